"""What is asked of clients, and what comes back, between the pool and its engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias, final

import numpy as np

from fedmgda.values import Cohort, DenseUpdates, Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.clients._settings import Settings

__all__ = [
    "LocalWork",
    "Outcome",
    "Rows",
    "Scores",
    "Scoring",
    "cohort_of",
    "explain",
    "in_short",
    "scores_of",
]

_REASON_LENGTH = 200


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWork:
    """What each client is asked to do with its training split: train, differentiate, or both.

    Attributes:
        round_num: The round of the training; None trains nobody.
        gradients: Whether ∇f_i and f_i at the received model are wanted, in eval mode.
    """

    round_num: int | None = None
    gradients: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """Loss and accuracy on a split."""

    split: Split


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The numbers of one client, or the reason why there are none (a short clause).

    Attributes:
        loss: What the client reports after training.
        local_loss: The mean of the batch losses while training.
        before: f_i of the received model, where it was measured.
        scores: Of shape `(k, 2)`: loss and accuracy under each of k models.
        reason: Why there are no numbers.
    """

    loss: float = float("nan")
    local_loss: float = float("nan")
    before: float | None = None
    scores: NDArray[np.float64] | None = None
    reason: str | None = None

    @classmethod
    def of_training(
        cls, settings: Settings, factor: float, local: float, before: float | None
    ) -> Self:
        """Return what a client reports whose losses are multiplied by a factor."""
        loss = before if settings.reported_loss == "before" and before is not None else local
        # As Python's numbers, which become infinite without a word: the gate speaks of them.
        return cls(loss=factor * float(loss), local_loss=factor * float(local), before=before)


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """Where the m clients of a call write to; what is not asked for has no columns.

    Attributes:
        updates: Of shape `(m, d)`, float32, or `(m, d + num_buffers)`.
        gradients: Of shape `(m, d)`, float32.
    """

    updates: Matrix
    gradients: Matrix

    @classmethod
    def for_work(cls, work: LocalWork, num_rows: int, num_params: int, num_buffers: int) -> Self:
        """Return new memory for what a call will write."""
        widths = (
            0 if work.round_num is None else num_params + num_buffers,
            num_params if work.gradients else 0,
        )
        return cls(*(np.empty((num_rows, width), np.float32) for width in widths))

    def of(self, slot: int) -> tuple[Vector, Vector]:
        """Return where one client's update and gradient go."""
        return self.updates[slot], self.gradients[slot]


def cohort_of(
    work: LocalWork,
    client_ids: Sequence[int],
    sizes: Sequence[int],
    outcomes: Sequence[Outcome],
    rows: Rows,
    num_params: int,
) -> Cohort:
    """Put together what came of a call; where nobody trained, the gradients are its updates."""
    done = [i for i, outcome in enumerate(outcomes) if outcome.reason is None]
    if len(done) < len(outcomes):
        rows = Rows(rows.updates[done], rows.gradients[done])
    before = np.array([outcomes[i].before for i in done], dtype=np.float64)
    gradients = DenseUpdates(rows.gradients) if work.gradients else None
    trained = work.round_num is not None
    buffers = rows.updates[:, num_params:]
    return Cohort(
        client_ids=[client_ids[i] for i in done],
        updates=DenseUpdates(rows.updates[:, :num_params]) if trained else rows.gradients,
        num_examples=np.array([sizes[i] for i in done], dtype=np.float64),
        losses=np.array([outcomes[i].loss for i in done]) if trained else before,
        failures=[
            Failure(client_id=client_id, reason=outcome.reason)
            for client_id, outcome in zip(client_ids, outcomes, strict=True)
            if outcome.reason is not None
        ],
        local_losses=np.array([outcomes[i].local_loss for i in done]) if trained else None,
        buffers=buffers if buffers.shape[1] else None,
        gradients=gradients if trained else None,
        before=before if trained and work.gradients else None,
    )


Scores: TypeAlias = "tuple[NDArray[np.float64], Mapping[int, str]]"
"""Loss and accuracy, of shape `(k, m, 2)`, and why there are none for some of the m clients."""


def scores_of(client_ids: Sequence[int], outcomes: Sequence[Outcome], num_models: int) -> Scores:
    """Put together the scores of k models; they are NaN for a client that has none."""
    scores = np.full((num_models, len(client_ids), 2), np.nan)
    for column, outcome in enumerate(outcomes):
        if outcome.scores is not None:
            scores[:, column] = outcome.scores
    reasons = zip(client_ids, (outcome.reason for outcome in outcomes), strict=True)
    return scores, {client_id: why for client_id, why in reasons if why is not None}


def explain(error: Exception) -> str:
    """Return the reason of an outcome whose work raised an error."""
    return f"its work raised {in_short(error)}"


def in_short(error: Exception) -> str:
    """Return what was raised, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_REASON_LENGTH]
