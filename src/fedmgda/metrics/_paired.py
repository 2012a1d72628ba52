"""Two models on the same rows: who does better, and would the chance of the rows do as much?

The models are given: chance is that of the rows they are tested on, not that of their training.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.metrics._catalogue import METRICS
from fedmgda.metrics._draws import RowDraws
from fedmgda.metrics._intervals import (
    DRAWS,
    FEW_ROWS,
    bootstrap_interval,
    in_parts,
    what_is_needed,
)
from fedmgda.metrics._of_classes import ranks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedmgda._types import Flags, Indices, Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["LEVEL", "Paired", "SameRows", "known_mean", "paired", "paired_over_seeds"]

LEVEL = 0.05
"""What the chance of the rows does less often than this is called beyond chance."""

_ROUNDING = 1e-12  # two sums of the same numbers in another order differ by less, in proportion


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SameRows:
    """What two models say of the same n rows.

    Attributes:
        rows: Of shape `(n,)`: which rows of the data they are, none twice.
        ours: What the one model says of them.
        theirs: What the other says of them.
    """

    rows: Indices
    ours: Answers
    theirs: Answers


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paired:
    """By how much one model is better than another; a gain is positive where it is.

    Attributes:
        gain: The difference of the metric, with the sign that makes better positive; 0 if it is
            rounding only, NaN where the metric is not defined.
        samples: Of shape `(draws,)`: the gain in samples of the rows with replacement.
        chance: Of shape `(draws,)`: the gain where the two models' answers are swapped, row by row
            with a fair coin: what it would be if only chance decided which model answers how.
        num_rows: How many rows a test has; over several, their mean.
        rounding: What differs by no more is equal.
    """

    gain: float
    samples: Vector
    chance: Vector
    num_rows: float
    rounding: float

    @property
    def interval(self) -> tuple[float, float]:
        """The gain at 95 %, by the bootstrap; NaN for few rows, of which it is too narrow."""
        if self.num_rows < FEW_ROWS:
            return math.nan, math.nan
        return bootstrap_interval(self.samples)

    @property
    def p_worse(self) -> float:
        """How often swaps make the model as much worse as it is, or more."""
        return self._p(1.0)

    @property
    def p_better(self) -> float:
        """How often swaps make the model as much better as it is, or more."""
        return self._p(-1.0)

    def loses_by_chance(self) -> Flags:
        """Tell for every swap whether the model would lose at all: of shape `(draws,)`."""
        return self.chance < -self.rounding

    def worse_by_chance(self) -> Flags:
        """Tell for every swap whether the model would be called worse: of shape `(draws,)`."""
        if math.isnan(self.gain):
            return np.zeros(len(self.chance), bool)
        ordered = np.sort(self.chance)
        below = np.searchsorted(ordered, self.chance + self.rounding, side="right")
        return below / len(ordered) <= LEVEL

    def _p(self, sign: float) -> float:
        if math.isnan(self.gain):
            return math.nan
        return float(np.mean(sign * self.chance <= sign * self.gain + self.rounding))


def paired(
    name: str, ours: Answers, theirs: Answers, rng: np.random.Generator, draws: int = DRAWS
) -> Paired:
    """Compare two models on the rows both were tested on.

    Args:
        name: The metric.
        ours: What the one model says of n examples.
        theirs: What the other says of the same examples in the same order.
        rng: Where the samples come from.
        draws: How many, an even number. Where a power of two has room for all ways to swap the
            rows, these are taken, each as often.

    >>> from fedmgda.metrics import Answers
    >>> truth = np.zeros(9, int)
    >>> right = Answers(targets=truth, predictions=truth, losses=np.ones(9), num_classes=2)
    >>> wrong = Answers(targets=truth, predictions=truth + 1, losses=np.ones(9), num_classes=2)
    >>> found = paired("accuracy", wrong, right, np.random.default_rng(0))
    >>> found.gain, found.p_worse < 0.01, found.p_better
    (-1.0, True, 1.0)
    """
    test = SameRows(rows=np.arange(ours.num_rows), ours=ours, theirs=theirs)
    return paired_over_seeds(name, [test], rng, draws)


def paired_over_seeds(
    name: str, tests: Sequence[SameRows], rng: np.random.Generator, draws: int = DRAWS
) -> Paired:
    """Return the mean over several tests, those that are defined, which may share rows.

    In a draw, a row meets the same fate in all tests: n tests of one row are no more than one.
    No p is 0, nor below 2^-n for n rows that are tested at least once.

    Args:
        name: The metric.
        tests: One for every seed: of two models each, trained and tested on its own split.
        rng: Where the samples come from.
        draws: How many, as in `paired`.
    """
    known = [test for test in tests if not math.isnan(_gain(name, test))]
    if not known:
        nothing = np.full(draws, np.nan)
        return Paired(gain=math.nan, samples=nothing, chance=nothing, num_rows=0.0, rounding=0.0)
    rows = np.unique(np.concatenate([test.rows for test in known]))
    drawn = RowDraws.of(len(rows), draws, rng)
    found = [_paired(name, test, drawn, np.searchsorted(rows, test.rows)) for test in known]
    gain = float(np.mean([pair.gain for pair in found]))
    rounding = max(pair.rounding for pair in found)
    return Paired(
        gain=0.0 if abs(gain) <= rounding else gain,
        samples=known_mean([pair.samples for pair in found]),
        chance=known_mean([pair.chance for pair in found]),
        num_rows=float(np.mean([pair.num_rows for pair in found])),
        rounding=rounding,
    )


def _gain(name: str, test: SameRows) -> float:
    metric = METRICS[name]
    sign = 1.0 if metric.larger_is_better else -1.0
    return float(sign * (metric.of(test.ours) - metric.of(test.theirs)))


def _paired(name: str, test: SameRows, drawn: RowDraws, places: Indices) -> Paired:
    """Compare on one test whose rows have those places among the rows that are drawn."""
    metric = METRICS[name]
    sign = 1.0 if metric.larger_is_better else -1.0
    ours, theirs = what_is_needed(name, test.ours), what_is_needed(name, test.theirs)

    def resampled(part: NDArray[np.int64]) -> Vector:
        return metric.of(ours.take(part)) - metric.of(theirs.take(part))

    one, other = (_ranked(ours), _ranked(theirs)) if name == "auc" else (ours, theirs)

    def swapped(coins: Flags) -> Vector:
        return metric.of(one.swapped(other, coins)) - metric.of(other.swapped(one, coins))

    # An error is a sum of what is positive, exact in proportion; a score may be 1 minus such a sum.
    size = max(float(metric.larger_is_better), *(abs(float(metric.of(s))) for s in (ours, theirs)))
    return Paired(
        gain=_gain(name, test),
        samples=sign * drawn.resampled(resampled, places, ours),
        chance=sign * in_parts(swapped, drawn.swaps[:, places], ours),
        num_rows=float(ours.num_rows),
        rounding=_ROUNDING * size,
    )


def known_mean(values: ArrayLike) -> NDArray[Any]:
    """Return the mean over the first axis of what is defined; NaN where nothing is.

    >>> known_mean([[1.0, np.nan, np.nan], [3.0, 4.0, np.nan]]).tolist()
    [2.0, 4.0, nan]
    """
    table = np.asarray(values)
    known = ~np.isnan(table)
    count, total = known.sum(axis=0), np.where(known, table, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _ranked(said: Answers) -> Answers:
    """Return answers with ranks for probabilities: two models' scores need not mean the same."""
    odds = said.probabilities
    ranks = None if odds is None else np.moveaxis(ranks_of(np.moveaxis(odds, -1, 0)), 0, -1)
    return replace(said, probabilities=ranks)
