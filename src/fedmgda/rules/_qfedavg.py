"""q-FedAvg: updates weighted by a power of the loss, with its own step length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from fedmgda.rules._rows import combine, raw_rows, row_norms
from fedmgda.rules._rule import StatelessRule

if TYPE_CHECKING:
    from fedmgda._types import Aggregate, Cohort, Vector

__all__ = ["LossScale", "QFedAvg"]

LossScale: TypeAlias = Literal["mean", "batch-sum", "sum"]

_GUARD = 1e-10  # added to every loss, so that 0 ** (q - 1) stays finite


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QFedAvg(StatelessRule):
    """d = Σ F_k^q g_k / Σ [F_k^q + q L F_k^(q-1) ‖g_k‖²], F_k the loss at the received model.

    λ carries the step length, so it does not sum to one. q = 0 is FedAvg for every L.

    Attributes:
        q: How much more a client with a large loss counts.
        lipschitz: L, a number or "1/eta": one over the clients' learning rate.
        loss_scale: F_k as the "mean" loss, its "sum" over examples, or the "batch-sum" of the
            released code: mean loss times the number of batches.
        client_lr: η, needed for "1/eta".
        batch_size: b, needed for "batch-sum"; None means one batch.

    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(0, 1), updates=np.array([[1.0], [3.0]]),
    ...                 num_examples=np.ones(2), losses=np.array([0.3, 0.6]))
    >>> QFedAvg(q=0.0, lipschitz=10.0).aggregate(cohort).direction
    array([2.])

    References:
        Li et al. (2020), Fair Resource Allocation in Federated Learning; SPEC 1.7.
    """

    q: float = 1.0
    lipschitz: float | Literal["1/eta"] = "1/eta"
    loss_scale: LossScale = "mean"
    client_lr: float | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.q) and self.q >= 0.0):
            raise ValueError(f"q must be zero or positive, got {self.q}.")
        if self.lipschitz == "1/eta":
            if self.client_lr is None:
                raise ValueError("lipschitz = '1/eta' needs client_lr; give it or a number for L.")
        elif not (np.isfinite(self.lipschitz) and self.lipschitz > 0.0):
            raise ValueError(f"lipschitz must be positive or '1/eta', got {self.lipschitz}.")

    def aggregate(self, cohort: Cohort) -> Aggregate:
        """Weigh the updates of a cohort by the q-th power of their losses."""
        losses = self._scaled_losses(cohort) + _GUARD
        scale = losses.max()
        # Losses relative to the largest: F^q with q = 10 and F = 1e40 would not fit a float64.
        relative = losses / scale
        powers = relative**self.q
        damping = self.q * self._constant() * relative ** (self.q - 1.0) / scale
        total = (powers + damping * row_norms(cohort.updates) ** 2).sum()
        return combine(raw_rows(cohort), powers / total)

    def _constant(self) -> float:
        if isinstance(self.lipschitz, str):
            assert self.client_lr is not None  # noqa: S101 (established in __post_init__)
            return 1.0 / self.client_lr
        return self.lipschitz

    def _scaled_losses(self, cohort: Cohort) -> Vector:
        losses = np.asarray(cohort.losses, dtype=np.float64)
        match self.loss_scale:
            case "mean":
                return losses
            case "sum":
                return losses * cohort.num_examples
            case "batch-sum":
                batch_size = self.batch_size or np.inf
                return losses * np.maximum(np.ceil(cohort.num_examples / batch_size), 1.0)
