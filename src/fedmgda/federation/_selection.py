"""Which of the models along a run is kept, by its score on validation data, and when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda._types import Vector

__all__ = ["Measure", "Selected", "select", "selected_round"]

Measure: TypeAlias = Literal["loss", "accuracy"]
"""What a score is: of losses the smallest is the best, of accuracies the largest."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selected:
    """The best model so far.

    Attributes:
        round_num: The round it comes from; 0 is the initial model.
        score: Its score; NaN where it has none.
        since: How many evaluations there have been since, none of them better.
        model: Of shape `(d + num_buffers,)`; None where only scores are looked at.
    """

    round_num: int
    score: float
    since: int = 0
    model: Vector | None = None


def select(best: Selected | None, candidate: Selected, measure: Measure) -> Selected:
    """Return the better of the best so far and a candidate; of two that are equal, the first.

    A score that is not finite is no better than any other, and any finite one is better than it.

    >>> first, second = Selected(round_num=0, score=0.7), Selected(round_num=10, score=0.7)
    >>> select(select(None, first, "loss"), second, "loss")
    Selected(round_num=0, score=0.7, since=1, model=None)
    """
    if best is None or _is_better(candidate.score, best.score, measure):
        return candidate
    return replace(best, since=best.since + 1)


def selected_round(
    scores: Iterable[tuple[int, float]], measure: Measure, patience: int | None = None
) -> tuple[int, int | None]:
    """Return the round that a run keeps, and the one that it is ended after.

    Args:
        scores: The rounds that were evaluated, ascending, with their scores.
        measure: What the scores are.
        patience: So many evaluations in a row without a better score end the run.

    Returns:
        The second is None where these scores do not end it.

    >>> selected_round([(0, 0.9), (10, 0.5), (20, 0.6), (30, 0.5)], "loss", patience=2)
    (10, 30)
    """
    best = None
    for round_num, score in scores:
        best = select(best, Selected(round_num=round_num, score=score), measure)
        if best.since == patience:
            return best.round_num, round_num
    return best.round_num if best else 0, None


def _is_better(score: float, best: float, measure: Measure) -> bool:
    if not math.isfinite(score) or not math.isfinite(best):
        return math.isfinite(score)
    return score < best if measure == "loss" else score > best
