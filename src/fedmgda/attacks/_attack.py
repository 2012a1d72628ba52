"""What a malicious client does, as a wrapper round the function that trains a cohort."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda._types import Cohort, TrainCohort, Vector

__all__ = ["Attack", "BiasLoss", "ScaleLoss", "ScaleUpdate", "under_attack"]


class Attack(ABC):
    """One deed of some clients: to the loss they train on, or to what they report."""

    clients: tuple[int, ...]

    @property
    def loss_factors(self) -> Mapping[int, float]:
        """For malicious clients that train on a multiple of their loss, the multiple."""
        return {}

    @abstractmethod
    def tamper(self, cohort: Cohort) -> Cohort:
        """Return what the server sees instead of what the clients did."""

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

    def tamper(self, cohort: Cohort) -> Cohort:
        """Return the cohort as it is: the client has already trained on, and reported, its lie."""
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

    def tamper(self, cohort: Cohort) -> Cohort:
        """Add the bias to the malicious clients' losses."""
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

    def tamper(self, cohort: Cohort) -> Cohort:
        """Scale the malicious clients' rows in a copy of the matrix."""
        updates = cohort.updates.copy()
        with np.errstate(over="ignore"):  # an infinite update is the gate's business
            updates[self.rows(cohort)] *= updates.dtype.type(self.factor)
        return replace(cohort, updates=updates)


def under_attack(train_cohort: TrainCohort, attack: Attack) -> TrainCohort:
    """Return the training function as the server meets it when some clients are malicious."""

    def train(params: Vector, client_ids: tuple[int, ...], round_num: int) -> Cohort:
        return attack.tamper(train_cohort(params, client_ids, round_num))

    return train
