"""q-FedAvg: updates weighted by a power of the loss, with its own step length."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final

import numpy as np

from fedmgda.rules._checks import check_name, check_positive, nonnegative
from fedmgda.rules._rows import raw_rows
from fedmgda.rules._rule import Rule
from fedmgda.values import Annealed, value_at

if TYPE_CHECKING:
    from fedmgda._types import RuleState, Vector
    from fedmgda.values import Cohort, Weighing

__all__ = ["LossScale", "QFedAvg"]

LossScale: TypeAlias = Literal["mean", "batch-sum", "sum"]

_GUARD = 1e-10  # added to every loss, so that 0 ** (q - 1) stays finite


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QFedAvg(Rule):
    """d = Σ F_k^q g_k / Σ [F_k^q + q L F_k^(q-1) ‖g_k‖²], F_k the loss at the received model.

    λ carries the step length, so it does not sum to one. q = 0 is FedAvg for every L.

    Attributes:
        q: How much more a client with a large loss counts.
        lipschitz: L, a number or "1/eta": one over the clients' learning rate.
        loss_scale: F_k as the "mean" loss, its "sum" over examples, or the "batch-sum" of the
            released code: mean loss times the number of batches.
        client_lr: η, needed for "1/eta": a number, or how it falls with the rounds.
        batch_size: b, needed for "batch-sum"; None means one batch.

    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(0, 1), updates=np.array([[1.0], [3.0]]),
    ...                 num_examples=np.ones(2), losses=np.array([0.3, 0.6]))
    >>> QFedAvg(q=0.0, lipschitz=10.0).aggregate(cohort).direction
    array([2.])

    References:
        Li et al. (2020), Fair Resource Allocation in Federated Learning; SPEC 1.7.
    """

    reads_losses: ClassVar[bool] = True

    q: float = 1.0
    lipschitz: float | Literal["1/eta"] = "1/eta"
    loss_scale: LossScale = "mean"
    client_lr: float | Annealed | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        check_positive("q", self.q, or_zero=True)
        check_name("loss_scale", self.loss_scale, LossScale)
        if self.client_lr is not None:
            check_positive("client_lr", value_at(self.client_lr, 1))
        elif self.lipschitz == "1/eta":
            raise ValueError("lipschitz = '1/eta' needs client_lr; give it or a number for L.")
        if self.lipschitz != "1/eta":
            check_positive("lipschitz", self.lipschitz, instead=", or '1/eta'")
        if self.batch_size is not None and not self.batch_size >= 1:
            raise ValueError(f"batch_size must be at least 1 or None, got {self.batch_size}.")

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Weigh the updates of a cohort by the q-th power of their losses."""
        losses = self._scaled_losses(cohort) + _GUARD
        # Losses relative to the largest: F^q with q = 10 and F = 1e40 would not fit a float64.
        powers = (losses / losses.max()) ** self.q
        lengths = np.sqrt(powers) * cohort.updates.norms()
        with np.errstate(over="ignore"):  # a total of infinity is a step too short for a float64
            damping = (lengths * np.sqrt(self.q * self._constant(round_num) / losses)) ** 2
            total = (powers + damping).sum()
        return raw_rows(cohort).weighing(powers / total), state

    def _constant(self, round_num: int) -> float:
        if isinstance(self.lipschitz, str):
            assert self.client_lr is not None  # noqa: S101 (established in __post_init__)
            return 1.0 / value_at(self.client_lr, round_num)
        return self.lipschitz

    def _scaled_losses(self, cohort: Cohort) -> Vector:
        losses = nonnegative("losses", cohort.losses)
        if self.loss_scale == "mean":
            return losses
        times = nonnegative("num_examples", cohort.num_examples)
        if self.loss_scale == "batch-sum":
            batch_size = min(self.batch_size or np.inf, sys.float_info.max)
            times = np.maximum(np.ceil(times / batch_size), 1.0)
        with np.errstate(over="ignore"):
            return np.minimum(losses * times, sys.float_info.max)
