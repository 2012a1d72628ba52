"""Counts, sums and sums of squares that add up exactly, and the mean and deviation they give.

A sum is two float64: the sum rounded, and what rounding left out, rounded. Together they have about
106 bits, so that the deviation 1 of numbers around 1e9 is not lost between a sum of squares and the
square of a sum, in whatever order, and by however many clients, the numbers are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Sums", "add_sums", "sums_of"]

_CHUNK = 1 << 16
_SPLIT = float(2**27 + 1)  # Veltkamp: cuts the 53 bits of a float64 in two halves

TwoFloats: TypeAlias = tuple[float, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What a client can tell about its numbers without telling one of them.

    Attributes:
        count: How many there are, missing ones apart.
        total: Their sum, and what it leaves out.
        squares: The sum of their squares, and what it leaves out.
    """

    count: int
    total: TwoFloats
    squares: TwoFloats

    @property
    def mean(self) -> float:
        """The mean; 0 of no numbers."""
        return float(_exact(self.total) / self.count) if self.count else 0.0

    @property
    def deviation(self) -> float:
        """The population standard deviation; 0 of no numbers, and of equal ones."""
        if not self.count:
            return 0.0
        mean = _exact(self.total) / self.count
        return math.sqrt(max(0.0, float(_exact(self.squares) / self.count - mean * mean)))


def sums_of(values: NDArray[np.float64]) -> Sums:
    """Return the sums of numbers below 1e30.

    Args:
        values: Of shape `(n,)`; NaN is missing.

    >>> sums = sums_of(np.array([1e9 - 1, 1e9 + 1, np.nan]))
    >>> sums.count, sums.mean, sums.deviation
    (2, 1000000000.0, 1.0)
    """
    known = np.asarray(values, np.float64)[~np.isnan(values)]
    chunks = [known[start : start + _CHUNK] for start in range(0, len(known), _CHUNK)]
    return Sums(
        count=len(known),
        total=_sum(lambda: chain.from_iterable(chunk.tolist() for chunk in chunks)),
        squares=_sum(lambda: chain.from_iterable(map(_squares, chunks))),
    )


def add_sums(parts: Sequence[Sums]) -> Sums:
    """Return the sums of the numbers of all parts together."""
    return Sums(
        count=sum(part.count for part in parts),
        total=_sum(lambda: chain.from_iterable(part.total for part in parts)),
        squares=_sum(lambda: chain.from_iterable(part.squares for part in parts)),
    )


def _sum(terms: Callable[[], Iterable[float]]) -> TwoFloats:
    """Add terms, given twice: fsum rounds once, however many there are and in whatever order."""
    head = math.fsum(terms())
    return head, math.fsum(chain(terms(), (-head,)))


def _squares(values: NDArray[np.float64]) -> list[float]:
    """Return numbers that add up to the squares exactly: those of halves have no rounding."""
    shifted = values * _SPLIT
    high = shifted - (shifted - values)
    low = values - high
    terms: list[float] = np.concatenate([high * high, 2 * high * low, low * low]).tolist()
    return terms


def _exact(number: TwoFloats) -> Fraction:
    return sum(map(Fraction, number), Fraction(0))
