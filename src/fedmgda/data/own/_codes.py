"""Whole numbers that name groups of rows, such as schools by number, told from amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["are_codes"]

_FEW_GROUPS, _MANY_GROUPS = 10, 30
_SEVERAL_ROWS = 3
_SMOOTH = 0.5  # measured: ages and scores of real tables are above, numbers of schools below
_TOGETHER = 0.5


def are_codes(numbers: NDArray[np.float64]) -> bool:
    """Tell whether numbers, of shape `(n,)` in the order of the file, name groups of rows.

    They are whole, not negative, and at least ten differ, with three rows each on average. Groups
    are of similar sizes, where counts of events are mostly 0 or 1; and the sizes of neighbours have
    little to do with each other, where those of amounts rise and fall smoothly. Besides, either
    rows of the same number mostly stand together, or there are at least 30 numbers that count from
    0 or 1 and leave out at most half.

    >>> are_codes(np.repeat(np.arange(20.0), 5)), are_codes(np.arange(100.0) % 2)
    (True, False)
    """
    if len(numbers) == 0 or numbers.min() < 0 or not np.all(numbers == np.rint(numbers)):
        return False
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < _FEW_GROUPS or len(numbers) < _SEVERAL_ROWS * len(values):
        return False
    evenness = len(numbers) ** 2 / (len(values) * float(np.sum(counts.astype(float) ** 2)))
    if 2 * evenness < 1 or _smoothness(counts) >= _SMOOTH:
        return False
    if np.mean(numbers[1:] == numbers[:-1]) >= _TOGETHER:
        return True
    counted = values[0] <= 1 and 2 * len(values) >= values[-1] - values[0] + 1
    return len(values) >= _MANY_GROUPS and bool(counted)


def _smoothness(counts: NDArray[np.int64]) -> float:
    """Return how much the counts of neighbouring values are alike: their autocorrelation."""
    off = counts - counts.mean()
    spread = float(off @ off)
    return float(off[1:] @ off[:-1]) / spread if spread else 0.0
