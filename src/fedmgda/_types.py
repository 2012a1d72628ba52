"""The values that cross layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Aggregate",
    "Cohort",
    "Failure",
    "Indices",
    "Matrix",
    "RuleState",
    "TrainCohort",
    "Vector",
]

Vector: TypeAlias = NDArray[np.floating[Any]]
Matrix: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = NDArray[np.int64]
RuleState: TypeAlias = "Mapping[str, NDArray[Any]]"
TrainCohort: TypeAlias = "Callable[[Vector, tuple[int, ...], int], Cohort]"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A client whose work does not count this round, and why (one short clause)."""

    client_id: int
    reason: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """What came back from the clients of one round.

    Attributes:
        client_ids: The m clients, in the order of the rows.
        updates: Of shape `(m, d)`, float32 (float64 is accepted). Row i is g_i = w_t - w_i, so it
            points like a gradient: the server subtracts it.
        num_examples: Of shape `(m,)`, the number of training examples of each client.
        losses: Of shape `(m,)`, what the clients report as their loss: f_i(w_t), the mean training
            loss of the model they received, unless they were told to report the local loss.
        failures: Clients that were asked and returned nothing usable.
        local_losses: Of shape `(m,)`, the mean of the batch losses each client saw while it trained
            (train mode, weights moving); None where nobody measured it. No rule reads it.
    """

    client_ids: tuple[int, ...]
    updates: Matrix
    num_examples: Vector
    losses: Vector
    failures: tuple[Failure, ...] = ()
    local_losses: Vector | None = None

    def select(self, rows: NDArray[Any]) -> Cohort:
        """Return the cohort of the given rows, a boolean mask or indices; failures are kept."""
        kept = np.arange(len(self.client_ids))[rows]
        if len(kept) == len(self.client_ids) and np.array_equal(kept, np.arange(len(kept))):
            return self  # never copy the (m, d) matrix for nothing
        return Cohort(
            client_ids=tuple(self.client_ids[i] for i in kept),
            updates=self.updates[kept],
            num_examples=self.num_examples[kept],
            losses=self.losses[kept],
            failures=self.failures,
            local_losses=None if self.local_losses is None else self.local_losses[kept],
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """What a rule made of a cohort, with the evidence of what it does to each participant.

    Attributes:
        client_ids: The m clients, in the order of the other fields.
        direction: Of shape `(d,)`: the server subtracts a multiple of it.
        lam: Of shape `(m,)`, λ: the weight of each client's row (normalised if the rule does so).
        norm: ‖d‖.
        gap: The duality gap of the problem λ solves; 0 for a rule that does not choose λ.
        inner: Of shape `(m,)`, ⟨g_i, d⟩ for the updates as they were sent, computed from the
            direction itself: to first order, moving along -d changes client i's loss by -⟨g_i, d⟩.
        dropped: Clients whose update was zero and that the rule left out.
    """

    client_ids: tuple[int, ...]
    direction: Vector
    lam: Vector
    norm: float
    gap: float
    inner: Vector
    dropped: tuple[int, ...] = ()

    @property
    def sacrificed(self) -> tuple[int, ...]:
        """The clients whose ⟨g_i, d⟩ is negative or NaN; empty is the proof that nobody is."""
        return tuple(
            client
            for client, value in zip(self.client_ids, self.inner, strict=True)
            if not value >= 0
        )
