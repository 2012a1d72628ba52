"""Differences over paired seeds, with a confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Difference", "Spread", "holm", "paired_difference", "welch"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean of first minus second over seeds that both have.

    Attributes:
        n: How many seeds.
        mean: NaN for none.
        low: The lower end of the interval; NaN where there is none.
        high: The upper end.
        p: Of the two-sided test that the true mean is zero; NaN where there is none.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return self.low > 0.0 or self.high < 0.0


def paired_difference(
    first: Mapping[int, float], second: Mapping[int, float], *, confidence: float = 0.95
) -> Difference:
    """Compare two variants seed by seed: the same seed gives both the same data and cohorts.

    The interval is Student's t for the mean of the differences. It takes them for independent and
    roughly normal, and knows nothing of how many comparisons are made. There is none for fewer than
    two seeds, nor where all differences are equal: scores that come in steps do that by chance, and
    their spread then says nothing.

    Args:
        first: For each seed its value.
        second: Likewise.
        confidence: The share of such intervals that cover the true mean.

    >>> found = paired_difference({1: 3.0, 2: 5.0, 3: 4.0}, {1: 1.0, 2: 2.0, 3: 3.0})
    >>> found.n, found.mean, round(found.low, 3), round(found.high, 3)
    (3, 2.0, -0.484, 4.484)
    """
    gaps = np.array([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])
    gaps = gaps[np.isfinite(gaps)]
    n, mean = len(gaps), float(gaps.mean()) if len(gaps) else math.nan
    error = float(gaps.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not error > 1e-9 * abs(mean):  # also where the mean is NaN
        return Difference(n=n, mean=mean, low=math.nan, high=math.nan, p=math.nan)
    from scipy.stats import t  # noqa: PLC0415 (comes with scikit-learn, which is optional)

    half = float(t.ppf(0.5 + confidence / 2, n - 1)) * error
    p = 2.0 * float(t.sf(abs(mean) / error, n - 1))
    return Difference(n=n, mean=mean, low=mean - half, high=mean + half, p=p)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What is printed of some runs: their mean, their population standard deviation, how many."""

    mean: float
    std: float
    n: int


def welch(one: Spread, other: Spread) -> float:
    """Return the p-value of Welch's test that two means are those of the same quantity.

    It takes runs for independent and roughly normal, and knows nothing of how many tests are made;
    printed values are rounded, which it does not know either. Where neither side has a spread it is
    1 for the same mean and 0 for another. NaN for fewer than two runs.

    >>> round(welch(Spread(mean=1.0, std=1.0, n=5), Spread(mean=3.0, std=1.0, n=5)), 4)
    0.0222
    """
    errors = [side.std**2 / (side.n - 1) if side.n > 1 else math.nan for side in (one, other)]
    total = sum(errors)  # std has the divisor n, so that std² / (n - 1) is the mean's variance
    if not (math.isfinite(one.mean) and math.isfinite(total)):
        return math.nan
    if total <= 0.0:
        return float(math.isclose(one.mean, other.mean))
    freedom = total**2 / sum(
        e**2 / (side.n - 1) for e, side in zip(errors, (one, other), strict=True)
    )
    from scipy.stats import t  # noqa: PLC0415 (comes with scikit-learn, which is optional)

    return 2.0 * float(t.sf(abs(one.mean - other.mean) / math.sqrt(total), freedom))


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, by Holm's method; NaN stays and is not counted.

    The chance that any true zero among them falls below a level is at most that level.

    >>> holm([0.01, float("nan"), 0.04, 0.03])
    [0.03, nan, 0.06, 0.06]
    """
    adjusted = [math.nan] * len(values)
    known = sorted((p, i) for i, p in enumerate(values) if not math.isnan(p))
    largest = 0.0
    for rank, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - rank) * p))
        adjusted[i] = largest
    return adjusted
