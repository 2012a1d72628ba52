"""What malicious clients do, as records; and what the server meets instead of their training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._errors import FedmgdaError, SpecError
from fedmgda._random import Stream, generator
from fedmgda.values import Cohort, DenseUpdates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda._types import Matrix, Vector
    from fedmgda.values import TrainCohort, Updates

__all__ = [
    "ATTACKS",
    "Attack",
    "BiasLoss",
    "GeneratorOf",
    "OpposeGradient",
    "ScaleLoss",
    "ScaleUpdate",
    "Veto",
    "answer_of",
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

    def said_losses(self, client_id: int, before: float, losses: Vector) -> Vector:
        """Return what a malicious client says of its training losses under other models.

        It is asked where steps are protected, of every length of a step that is tried. The default
        is the truth. Whatever is said, what a run measures is the truth.

        Args:
            client_id: Who is asked, one of `clients`.
            before: f_i(w_t) as this client said it, after `tamper`.
            losses: Of shape `(k,)`, f_i of each of the k models.

        Returns:
            Of shape `(k,)`.
        """
        del client_id, before
        return losses

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
        for part in (updates, buffers):
            if part is not None:
                part[rows] *= part.dtype.type(self.factor)
        return replace(cohort, updates=DenseUpdates(updates), buffers=buffers)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Veto(Attack):
    """f_i(w_{t+1}) <- 2 f_i(w_t) + 1, whatever it is: no step is ever good for it.

    Training, gradient and the loss before the step are honest, so that without protection it does
    nothing.

    Attributes:
        clients: Who is malicious.
    """

    clients: tuple[int, ...]

    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Return the cohort as it is: the lie comes after the step."""
        del params, generator
        return cohort

    def said_losses(self, client_id: int, before: float, losses: Vector) -> Vector:
        """Return twice the loss before the step, and one more."""
        del client_id
        return np.full(len(losses), 2.0 * before + 1.0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpposeGradient(Attack):
    """∇f_i(w_t) <- -∇f_i(w_t): the step is turned towards what raises the attacker's own loss.

    It votes for what it asked for: it says the loss 2 f_i(w_t) - f_i, at least 0, whose gradient is
    the one it sent. (With the truth it would oppose the very steps it asks for, and be a `Veto`.)
    Training and the loss before the step are honest; without protection it does nothing.

    Attributes:
        clients: Who is malicious.
    """

    clients: tuple[int, ...]

    def tamper(self, cohort: Cohort, params: Vector, generator: GeneratorOf) -> Cohort:
        """Turn the malicious clients' gradients round, in a copy of the matrix."""
        del params, generator
        rows = self.rows(cohort)
        if cohort.gradients is None or not rows:
            return cohort
        gradients = _in_memory(cohort.gradients, "gradients").copy()
        gradients[rows] *= -1
        return replace(cohort, gradients=DenseUpdates(gradients))

    def said_losses(self, client_id: int, before: float, losses: Vector) -> Vector:
        """Return the losses mirrored at the one before the step."""
        del client_id
        return np.maximum(2.0 * before - losses, 0.0)


ATTACKS: Mapping[str, type[Attack]] = {
    "scale-loss": ScaleLoss,
    "bias-loss": BiasLoss,
    "scale-update": ScaleUpdate,
    "veto": Veto,
    "oppose-gradient": OpposeGradient,
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
    return _in_memory(cohort.updates, "updates")


def _in_memory(updates: Updates, what: str) -> Matrix:
    if not isinstance(updates, DenseUpdates):
        raise SpecError(f"An attack on {what} needs them in memory; keep fewer clients or none.")
    return updates.rows


def under_attack(train_cohort: TrainCohort, attack: Attack, seed: int) -> TrainCohort:
    """Return the training function as the server meets it when some clients are malicious."""

    def train(params: Vector, client_ids: tuple[int, ...], round_num: int) -> Cohort:
        cohort = train_cohort(params, client_ids, round_num)
        dice = partial(generator, seed, Stream.ATTACK, round_num)
        seen = answer_of(attack, "tamper", cohort, params, dice)
        if not isinstance(seen, Cohort):
            raise SpecError(
                f"tamper of the attack {type(attack).__name__} must return a Cohort, got an object "
                f"of type {type(seen).__name__}; correct it."
            )
        return seen

    return train


def answer_of(attack: Attack, method: str, *given: object) -> object:
    """Return what a method of an attack gives, which may be anybody's.

    What is infinite or no number in it is the gate's business, and no warning is given of it.

    Raises:
        SpecError: If it raises.
    """
    try:
        with np.errstate(all="ignore"):
            return getattr(attack, method)(*given)
    except FedmgdaError:
        raise
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SpecError(
            f"{method} of the attack {type(attack).__name__} raised {reason}; correct it."
        ) from error
