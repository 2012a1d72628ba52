"""How evenly a model serves its users: one summary of one value per user."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedmgda._types import Vector

__all__ = ["Fairness", "fairness"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """The distribution of one score over n users; a larger score is better, as with accuracy.

    "Worst 5 %" and "best 5 %" mean `percentile_5` and `percentile_95` wherever they are said, as in
    the paper.
    The last three measures compare the scores, divided by their sum, with the uniform
    distribution. They reach their maximum when all scores are equal, zeros included, and are NaN
    if a score is negative, where they have no meaning.

    Attributes:
        num_users: n.
        k: How many users `worst_k` and `best_k` average over.
        average: The mean over users, each counted once.
        average_weighted: The mean over users, each counted by its weight (its examples).
        std: The population standard deviation (divisor n) over users.
        variance_unweighted: The square of `std`.
        variance_weighted: The weighted mean of squared distances from `average_weighted`.
        percentile_5: The 5th percentile, interpolated linearly.
        percentile_95: The 95th percentile, interpolated linearly.
        mean_lowest_5_percent: The mean of the ceil(n / 20) lowest scores.
        mean_highest_5_percent: The mean of the ceil(n / 20) highest scores.
        worst_k: The mean of the min(k, n) lowest scores.
        best_k: The mean of the min(k, n) highest scores.
        min: The lowest score.
        max: The highest score.
        jain: Jain's index (Σx)² / (n Σx²), from 1/n (one user has all) to 1 (all equal).
        entropy: -Σ p log p of p = x / Σx with 0 log 0 = 0, from 0 to log n.
        cosine_to_uniform: The cosine between the scores and the vector of ones: √jain.
    """

    num_users: int
    k: int
    average: float
    average_weighted: float
    std: float
    variance_unweighted: float
    variance_weighted: float
    percentile_5: float
    percentile_95: float
    mean_lowest_5_percent: float
    mean_highest_5_percent: float
    worst_k: float
    best_k: float
    min: float
    max: float
    jain: float
    entropy: float
    cosine_to_uniform: float


def fairness(values: ArrayLike, weights: ArrayLike | None = None, *, k: int = 5) -> Fairness:
    """Summarise one score per user.

    Args:
        values: Of shape `(n,)`, n >= 1, finite: the score of each user, larger is better.
        weights: Of shape `(n,)`, non-negative with a positive sum: the examples behind each
            score. None counts every user once.
        k: How many users the worst-k and best-k means are taken over; all of them if n < k.

    Returns:
        The summary. It does not depend on the order of the users, to the last bit.

    Raises:
        ValueError: If there is no user, a score is NaN or infinite, a weight is invalid or k < 1.

    >>> summary = fairness([0.9, 0.5, 0.7, 0.9], k=2)
    >>> round(summary.average, 4), round(summary.worst_k, 4), round(summary.best_k, 4)
    (0.75, 0.6, 0.9)
    >>> round(summary.std, 4), round(summary.percentile_5, 4), round(summary.jain, 4)
    (0.1658, 0.53, 0.9534)
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    scores = _checked_values(values)
    counts = _checked_weights(weights, len(scores))
    order = np.lexsort((counts, scores))
    scores, counts = scores[order], counts[order]
    average, variance = _moments(scores, np.ones(len(scores)))
    average_weighted, variance_weighted = _moments(scores, counts)
    tail, k_users = -(-len(scores) // 20), min(k, len(scores))
    percentile_5, percentile_95 = np.percentile(scores, [5, 95])
    jain, entropy = _evenness(scores)
    return Fairness(
        num_users=len(scores),
        k=k,
        average=average,
        average_weighted=average_weighted,
        std=math.sqrt(variance),
        variance_unweighted=variance,
        variance_weighted=variance_weighted,
        percentile_5=float(percentile_5),
        percentile_95=float(percentile_95),
        mean_lowest_5_percent=_mean(scores[:tail]),
        mean_highest_5_percent=_mean(scores[-tail:]),
        worst_k=_mean(scores[:k_users]),
        best_k=_mean(scores[-k_users:]),
        min=float(scores[0]),
        max=float(scores[-1]),
        jain=jain,
        entropy=entropy,
        cosine_to_uniform=math.sqrt(jain),
    )


def _checked_values(values: ArrayLike) -> Vector:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"values must have shape (n,) with n >= 1, got shape {scores.shape}.")
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise ValueError(
            f"values must be finite, got {scores[bad[0]]} for the user at position {bad[0]}; "
            "leave out users that have no score."
        )
    return scores


def _checked_weights(weights: ArrayLike | None, num_users: int) -> Vector:
    if weights is None:
        return np.ones(num_users)
    counts = np.asarray(weights, dtype=np.float64)
    if counts.shape != (num_users,):
        raise ValueError(f"weights must have shape ({num_users},), got {counts.shape}.")
    bad = np.flatnonzero(~(np.isfinite(counts) & (counts >= 0)))
    if bad.size:
        raise ValueError(
            "weights must be finite and non-negative, "
            f"got {counts[bad[0]]} for the user at position {bad[0]}."
        )
    if not counts.any():
        raise ValueError("weights must have a positive sum, got 0 for every user.")
    return counts


def _mean(ascending: Vector) -> float:
    # Summing distances from the lowest score keeps the mean of equal scores exact.
    low = float(ascending[0])
    return low + float(np.mean(ascending - low))


def _moments(ascending: Vector, weights: Vector) -> tuple[float, float]:
    """Return the weighted mean and the weighted variance; equal scores have variance exactly 0."""
    low = float(ascending[0])
    share = weights / weights.max()
    share = share / share.sum()
    offset = float(share @ (ascending - low))
    variance = float(share @ (ascending - low - offset) ** 2)
    return low + offset, variance


def _evenness(ascending: Vector) -> tuple[float, float]:
    """Return Jain's index and the entropy of non-negative scores, NaN if one is negative."""
    num_users, largest = len(ascending), float(ascending[-1])
    if ascending[0] < 0:
        return math.nan, math.nan
    if largest == 0:
        return 1.0, math.log(num_users)
    # Neither measure sees the scale; dividing first keeps tiny and huge scores in range.
    scaled = ascending / largest
    total = float(scaled.sum())
    jain = total**2 / (num_users * float(scaled @ scaled))
    positive = scaled[scaled > 0] / total
    entropy = -float(positive @ np.log(positive))
    return min(jain, 1.0), min(max(entropy, 0.0), math.log(num_users))
