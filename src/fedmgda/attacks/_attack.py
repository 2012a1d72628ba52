"""What a malicious client does, as a wrapper round the function that trains a cohort."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda._random import Stream, generator
from fedmgda.values import Cohort, DenseUpdates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda._types import Matrix, Vector
    from fedmgda.values import TrainCohort

__all__ = [
    "ATTACKS",
    "Attack",
    "BiasLoss",
    "GeneratorOf",
    "ScaleLoss",
    "ScaleUpdate",
    "attack_options",
    "rows_of",
    "under_attack",
]

GeneratorOf: TypeAlias = Callable[[int], np.random.Generator]
"""The generator of a client in the round at hand."""


class Attack(ABC):
    """One deed of some clients: to the loss they train on, or to what they report."""

    clients: tuple[int, ...]

    @property
    def loss_factors(self) -> Mapping[int, float]:
        """For malicious clients that train on a multiple of their loss, the multiple."""
        return {}

    @abstractmethod
    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Return what the server sees instead of what the clients did.

        Args:
            cohort: What the clients did.
            params: The model they received, of shape `(d + num_buffers,)`.
            generator: For a client id, a generator of its own for this round: whatever an attack
                draws, it draws again after a crash.
        """

    def rows(self, cohort: Cohort) -> list[int]:
        """Return the rows of the malicious clients."""
        return [row for row, client in enumerate(cohort.client_ids) if client in self.clients]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleLoss(Attack):
    """f_i <- factor * f_i, in training and in the report: the scaling attack of the paper.

    Attributes:
        clients: Who is malicious.
        factor: The multiple.
    """

    clients: tuple[int, ...]
    factor: float = 10.0

    @property
    def loss_factors(self) -> Mapping[int, float]:
        """The factor, for each malicious client: training itself is attacked."""
        return dict.fromkeys(self.clients, self.factor)

    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Return the cohort as it is: the client has already trained on, and reported, its lie."""
        del params, generator
        return cohort


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BiasLoss(Attack):
    """f_i <- f_i + bias: no gradient changes, only what loss-reading rules are told.

    Attributes:
        clients: Who is malicious.
        bias: What is added to the reported loss.
    """

    clients: tuple[int, ...]
    bias: float = 1.0

    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Add the bias to the malicious clients' losses."""
        del params, generator
        losses = np.array(cohort.losses)
        losses[self.rows(cohort)] += self.bias
        return replace(cohort, losses=losses)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleUpdate(Attack):
    """g_i <- factor * g_i: model replacement after honest training.

    Attributes:
        clients: Who is malicious.
        factor: The multiple.
    """

    clients: tuple[int, ...]
    factor: float = 10.0

    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Scale the malicious clients' rows in a copy of the matrix."""
        del params, generator
        rows, updates = self.rows(cohort), rows_of(cohort).copy()
        buffers = None if cohort.buffers is None else cohort.buffers.copy()
        with np.errstate(over="ignore"):  # an infinite update is the gate's business
            for part in (updates, buffers):
                if part is not None:
                    part[rows] *= part.dtype.type(self.factor)
        return replace(cohort, updates=DenseUpdates(updates), buffers=buffers)


ATTACKS: Mapping[str, type[Attack]] = {
    "scale-loss": ScaleLoss,
    "bias-loss": BiasLoss,
    "scale-update": ScaleUpdate,
}
"""Every attack a spec can name, a dataclass; its fields beside `clients` are its options."""


def attack_options(kind: type[Attack]) -> dict[str, Any]:
    """Return the options of an attack with their defaults: its fields beside `clients`.

    >>> attack_options(ScaleUpdate)
    {'factor': 10.0}
    """
    made: Any = kind  # a dataclass, as every attack
    return {f.name: f.default for f in fields(made) if f.name != "clients"}


def rows_of(cohort: Cohort) -> Matrix:
    """Return the updates as a matrix, of shape `(m, d)`, which an attack on them needs.

    Raises:
        SpecError: If they are not in memory.
    """
    if not isinstance(cohort.updates, DenseUpdates):
        raise SpecError("An attack on updates needs them in memory; keep fewer clients or none.")
    return cohort.updates.rows


def under_attack(train_cohort: TrainCohort, attack: Attack, seed: int) -> TrainCohort:
    """Return the training function as the server meets it when some clients are malicious."""

    def train(params: Vector, client_ids: tuple[int, ...], round_num: int) -> Cohort:
        cohort = train_cohort(params, client_ids, round_num)
        dice = partial(generator, seed, Stream.ATTACK, round_num)
        seen: object = attack.tamper(cohort, params, dice)
        if not isinstance(seen, Cohort):
            raise SpecError(
                f"tamper of the attack {type(attack).__name__} must return a Cohort, got an object "
                f"of type {type(seen).__name__}; correct it."
            )
        return seen

    return train
