"""Curves made readable the way the paper's figures were."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedmgda._types import Vector

__all__ = ["smoothed"]


def smoothed(curve: ArrayLike, span: float) -> Vector:
    """Return the exponentially weighted mean of a curve.

    Entry t is Σ_s (1-α)^(t-s) x_s / Σ_s (1-α)^(t-s) over s <= t with α = 2 / (span + 1), which is
    what pandas computes as `ewm(span=span, adjust=True).mean()`. Entries that are NaN are left out
    of both sums but keep their place, so that distances remain rounds; the result there repeats
    the mean so far, and is NaN before the first number.

    Args:
        curve: Of shape `(t,)`, for example one value per round.
        span: At least 1, which changes nothing. The paper's figures use 50 for values of every
            round and 5 for values of every tenth.

    Returns:
        Of shape `(t,)`, float64.

    Raises:
        ValueError: If the curve is not one-dimensional or span < 1.

    >>> smoothed([0.0, 1.0, 2.0, float("nan"), 4.0], span=2).round(4).tolist()
    [0.0, 0.75, 1.6154, 1.6154, 3.6702]
    """
    points = np.asarray(curve, dtype=np.float64)
    if points.ndim != 1:
        raise ValueError(f"curve must have shape (t,), got {points.shape}.")
    if not span >= 1:
        raise ValueError(f"span must be at least 1, got {span}.")
    keep = (span - 1) / (span + 1) if math.isfinite(span) else 1.0
    result = np.empty(len(points))
    mean, weight = math.nan, 0.0
    for t, point in enumerate(points.tolist()):
        weight *= keep
        if not math.isnan(point):
            # A running mean, not a quotient of sums, which long gaps would drive to 0 / 0.
            mean = point if weight == 0.0 else mean + (point - mean) / (weight + 1.0)
            weight += 1.0
        result[t] = mean
    return result
