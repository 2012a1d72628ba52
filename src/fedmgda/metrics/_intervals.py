"""How sure a metric of few rows is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.metrics._catalogue import METRICS, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fedmgda._types import Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["bootstrap_interval", "interval", "wilson"]

DRAWS = 1024
"""Samples behind an interval or a test, unless somebody asks for another number."""

FEW_ROWS = 10
"""Of fewer rows a bootstrap says too little: of 8, an interval at 95 % is one at 87 %."""

_Z = 1.959963984540054  # of 95 % of a normal distribution
_ENTRIES = 1 << 21  # numbers held at once while sampling


def wilson(hits: float, trials: float) -> tuple[float, float]:
    """Return the interval of Wilson for a share, at 95 %; it never leaves [0, 1].

    Args:
        hits: How many of the trials succeeded.
        trials: How many there were; of none, nothing is known, and both bounds are NaN.

    >>> low, high = wilson(0, 10)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.2775)
    """
    if not trials:
        return math.nan, math.nan
    share, extra = hits / trials, _Z**2 / trials
    middle = (share + extra / 2) / (1 + extra)
    half = _Z * math.sqrt(share * (1 - share) / trials + extra / trials / 4) / (1 + extra)
    # Rounding must not put a share of 0 or 1 outside its own interval.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def interval(
    name: str, said: Answers, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float]:
    """Return the interval of a metric at 95 %: Wilson's for a share, else by the bootstrap.

    Args:
        name: The metric.
        said: What a model says of n examples.
        rng: Where the samples come from.
        draws: How many samples.

    Returns:
        Its bounds; NaN where the metric is not defined, and for few rows but of a share.
    """
    if math.isnan(measure(name, said)):
        return math.nan, math.nan
    counts = _counts(name, said)
    if counts is not None:
        return wilson(*counts)
    if said.num_rows < FEW_ROWS:
        return math.nan, math.nan
    rows, needed = resamples(said.num_rows, draws, rng), what_is_needed(name, said)
    samples = in_parts(lambda part: METRICS[name].of(needed.take(part)), rows, needed)
    return bootstrap_interval(samples)


def bootstrap_interval(samples: Vector) -> tuple[float, float]:
    """Return what 95 % of the samples lie between; those that are NaN do not count."""
    known = samples[~np.isnan(samples)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def resamples(num_rows: int, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return samples of n examples with replacement, of shape `(draws, n)`."""
    return rng.integers(0, num_rows, (draws, num_rows), dtype=np.int64)


def what_is_needed(name: str, said: Answers) -> Answers:
    """Return answers without the probabilities if a metric does not read them: they are large."""
    return said if METRICS[name].needs_probabilities else replace(said, probabilities=None)


def in_parts(
    function: Callable[[NDArray[Any]], Vector], rows: NDArray[Any], said: Answers
) -> Vector:
    """Apply a function to so many samples of some answers at a time that memory stays small."""
    width = 1 if said.probabilities is None else said.probabilities.shape[-1]
    at_once = max(1, _ENTRIES // max(1, rows.shape[1] * width))
    parts = [function(rows[start : start + at_once]) for start in range(0, len(rows), at_once)]
    return np.concatenate(parts)


def _counts(name: str, said: Answers) -> tuple[float, float] | None:
    """Return hits and trials, where a metric is a share of single examples."""
    right = said.predictions == said.targets
    if name == "accuracy":
        return float(right.sum()), float(said.num_rows)
    if name == "recall" and said.num_classes == 2:
        positive = said.targets == said.positive
        return float((right & positive).sum()), float(positive.sum())
    return None
