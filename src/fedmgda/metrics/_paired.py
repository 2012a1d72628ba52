"""Two models on the same rows: who does better, and would chance alone do as much?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.metrics._catalogue import METRICS
from fedmgda.metrics._intervals import (
    DRAWS,
    bootstrap_interval,
    in_parts,
    resamples,
    what_is_needed,
)
from fedmgda.metrics._of_classes import ranks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["LEVEL", "Paired", "mean_of_pairs", "paired"]

LEVEL = 0.05
"""What chance alone does less often than this is called beyond chance."""

_ROUNDING = 1e-12  # two sums of the same numbers in another order differ by less


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paired:
    """By how much one model is better than another; a gain is positive where it is.

    Attributes:
        gain: The difference of the metric, with the sign that makes better positive; NaN where
            the metric is not defined.
        samples: Of shape `(draws,)`: the gain in samples of the rows with replacement.
        chance: Of shape `(draws,)`: the gain where the two models' answers are swapped, row by row
            with a fair coin: what the gain would be if the models did not differ but by chance.
    """

    gain: float
    samples: Vector
    chance: Vector

    @property
    def interval(self) -> tuple[float, float]:
        """The gain at 95 %, by the bootstrap."""
        return bootstrap_interval(self.samples)

    @property
    def p_worse(self) -> float:
        """How often chance alone makes the model as much worse as it is, or more."""
        return _p(self.chance, self.gain)

    @property
    def p_better(self) -> float:
        """How often chance alone makes the model as much better as it is, or more."""
        return _p(-self.chance, -self.gain)

    def loses_by_chance(self) -> NDArray[np.bool_]:
        """Tell for every swap whether the model would lose at all: of shape `(draws,)`."""
        return self.chance < -_ROUNDING

    def worse_by_chance(self) -> NDArray[np.bool_]:
        """Tell for every swap whether the model would be called worse: of shape `(draws,)`."""
        if math.isnan(self.gain):
            return np.zeros(len(self.chance), bool)
        ordered = np.sort(self.chance)
        below = np.searchsorted(ordered, self.chance + _ROUNDING, side="right")
        return below / len(ordered) <= LEVEL


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
    metric = METRICS[name]
    sign = 1.0 if metric.larger_is_better else -1.0
    gain = float(sign * (metric.of(ours) - metric.of(theirs)))
    if math.isnan(gain):
        nothing = np.full(draws, np.nan)
        return Paired(gain=gain, samples=nothing, chance=nothing)
    ours, theirs = what_is_needed(name, ours), what_is_needed(name, theirs)
    rows = resamples(ours.num_rows, draws, rng)
    swaps = _swaps(ours.num_rows, draws, rng)

    def resampled(part: NDArray[np.int64]) -> Vector:
        return metric.of(ours.take(part)) - metric.of(theirs.take(part))

    one, other = (_ranked(ours), _ranked(theirs)) if name == "auc" else (ours, theirs)

    def swapped(part: NDArray[np.int64]) -> Vector:
        coins = part == 1
        return metric.of(one.swapped(other, coins)) - metric.of(other.swapped(one, coins))

    return Paired(
        gain=gain,
        samples=sign * in_parts(resampled, rows, ours),
        chance=sign * in_parts(swapped, swaps, ours),
    )


def mean_of_pairs(pairs: Sequence[Paired]) -> Paired:
    """Return the mean over several tests of one client, those that are defined: seeds, mostly."""
    known = [pair for pair in pairs if not math.isnan(pair.gain)] or list(pairs[:1])
    samples = np.stack([pair.samples for pair in known])
    return Paired(
        gain=float(np.mean([pair.gain for pair in known])),
        samples=np.asarray(samples.mean(axis=0)),
        chance=np.asarray(np.stack([pair.chance for pair in known]).mean(axis=0)),
    )


def _ranked(said: Answers) -> Answers:
    """Return answers with ranks for probabilities: two models' scores need not mean the same."""
    odds = said.probabilities
    ranks = None if odds is None else np.moveaxis(ranks_of(np.moveaxis(odds, -1, 0)), 0, -1)
    return replace(said, probabilities=ranks)


def _p(chance: Vector, gain: float) -> float:
    if math.isnan(gain):
        return math.nan
    return float(np.mean(chance <= gain + _ROUNDING))


def _swaps(num_rows: int, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which rows are swapped, of shape `(draws, n)`: none of them in one, so no p is 0.

    With every choice comes the opposite one, so that neither model is favoured.
    """
    if num_rows < 62 and draws % (1 << num_rows) == 0:
        numbers = rng.permutation(draws)
        return (numbers[:, None] >> np.arange(num_rows)) & 1
    half = rng.integers(0, 2, (draws // 2, num_rows), dtype=np.int64)
    half[0] = 0
    return np.stack([half, 1 - half], axis=1).reshape(-1, num_rows)
