"""Euclidean projections onto the simplex and onto the simplex cut by a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._real import as_real

if TYPE_CHECKING:
    from fedmgda._types import Vector

__all__ = ["project_onto_box", "project_onto_simplex"]


def project_onto_simplex(point: Vector) -> Vector:
    """Return the nearest point of {λ >= 0, Σ λ = 1}.

    Sorting `point` downwards as u, the support has the size of the largest j for which
    u_j + (1 - u_1 - ... - u_j) / j > 0, and all its coordinates move by the same amount.

    Args:
        point: Of shape `(m,)`, finite.

    Returns:
        Of shape `(m,)`, float64.

    Raises:
        ValueError: If the point is not finite: no point of the simplex is nearest to it.

    >>> project_onto_simplex(np.array([1.4, 0.25])).tolist()
    [1.0, 0.0]
    """
    point = as_real(point, "point")
    if not np.isfinite(point).all():
        row = int(np.argmin(np.isfinite(point)))
        raise ValueError(f"point must be finite, got {point[row]:g} in coordinate {row}.")
    # Only differences matter, and near the largest value they are free of overflow and rounding;
    # whatever lies 1 or more below it has no weight, so the others may overflow downwards.
    with np.errstate(over="ignore"):
        shifted = np.maximum(point - point.max(), -1.0)
    down = np.sort(shifted)[::-1]
    shift = (1.0 - np.cumsum(down)) / np.arange(1, len(down) + 1)
    size = np.flatnonzero(down + shift > 0)[-1]
    projected: Vector = np.maximum(shifted + shift[size], 0.0)
    return projected


def project_onto_box(
    point: Vector, lower: Vector, upper: Vector, give: Vector | None = None
) -> Vector:
    """Return the nearest point of {lower <= λ <= upper, Σ λ = 1}.

    The answer is clip(point - t * give, lower, upper) for the t at which it sums to 1; the sum
    falls with t, linearly between the 2m values at which a coordinate meets a bound.

    Args:
        point: Of shape `(m,)`, finite.
        lower: Of shape `(m,)`, with Σ lower <= 1.
        upper: Of shape `(m,)`, with Σ upper >= 1 and upper >= lower.
        give: Of shape `(m,)`, > 0: how readily a coordinate moves; distances are then measured by
            Σ (λ_i - point_i)² / give_i. All equal if None.

    Returns:
        Of shape `(m,)`, float64.

    >>> project_onto_box(np.array([0.75, 0.75]), np.zeros(2), np.array([0.25, 1.0])).tolist()
    [0.25, 0.75]
    """
    give = np.ones(len(point)) if give is None else give
    falls, rises = (point - upper) / give, (point - lower) / give
    below, above = float(falls.max()), float(rises.min())
    left, right = (_within(point - kink * give, lower, upper) for kink in (below, above))
    sum_left, sum_right = float(left.sum()), float(right.sum())
    if not (below < above and sum_left >= 1.0 > sum_right):  # else no kink lies between them
        kinks = np.sort(np.concatenate((falls, rises)))
        left, right = _around_one(point, give, kinks, (lower, upper))
        sum_left, sum_right = float(left.sum()), float(right.sum())
    fall = sum_left - sum_right
    share = min(max((sum_left - 1.0) / fall, 0.0), 1.0) if fall > 0 else 0.0
    return _within(left + share * (right - left), lower, upper)


def _around_one(
    point: Vector, give: Vector, kinks: Vector, box: tuple[Vector, Vector]
) -> tuple[Vector, Vector]:
    """Return the points at the last kink at which the sum is at least 1, and at the next."""
    low, high = 0, len(kinks) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if _within(point - kinks[middle] * give, *box).sum() >= 1.0:
            low = middle
        else:
            high = middle
    return (
        _within(point - kinks[low] * give, *box),
        _within(point - kinks[high] * give, *box),
    )


def _within(point: Vector, lower: Vector, upper: Vector) -> Vector:
    """Do what np.clip does, without its overhead of several microseconds per call."""
    return np.minimum(np.maximum(point, lower), upper)
