"""Who is better off after a round."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["improved_participants"]


def improved_participants(before: ArrayLike, after: ArrayLike) -> float:
    """Return the percentage of a round's participants whose loss did not rise.

    A participant improved if f_i(w_{t+1}) <= f_i(w_t), both over its training split in eval mode
    and without the proximal term. A NaN on either side, or an infinite loss afterwards, does not
    count as improved.

    Args:
        before: Of shape `(m,)`: f_i(w_t) of each participant.
        after: Of shape `(m,)`: f_i(w_{t+1}) of the same participants in the same order.

    Returns:
        A number from 0 to 100; NaN if m = 0, because no percentage of nobody is true.

    Raises:
        ValueError: If the shapes differ or are not `(m,)`.

    >>> improved_participants([0.9, 0.5, 0.7, 0.2], [0.8, 0.5, 0.9, float("nan")])
    50.0
    """
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if old.ndim != 1 or old.shape != new.shape:
        raise ValueError(
            f"before and after must have the same shape (m,), got {old.shape} and {new.shape}."
        )
    if old.size == 0:
        return math.nan
    return 100.0 * float(np.mean(np.isfinite(new) & (new <= old)))
