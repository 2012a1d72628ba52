"""What is measured of a run, by the names the paper's tables have (SPEC 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedmgda.metrics import fairness, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fedmgda._types import Vector
    from fedmgda.paper._result import Result

__all__ = ["METRICS", "measure"]


def measure(result: Result, metric: str, span: int) -> float:
    """Return one number of a run; NaN if it was not measured.

    Args:
        result: The run.
        metric: One of `METRICS`.
        span: Of the exponentially weighted mean behind the metrics of the last rounds.
    """
    return _MEASURES[metric](result, span)


def _of_users(name: str, *, honest: bool = False) -> Callable[[Result, int], float]:
    def value(result: Result, span: int) -> float:
        del span
        values, examples = result.accuracies(honest=honest)
        return float(getattr(fairness(values, examples), name)) if len(values) else math.nan

    return value


def _of_client(client: int) -> Callable[[Result, int], float]:
    def value(result: Result, span: int) -> float:
        del span
        return 100.0 * float(result.evaluations[-1].accuracies[client])

    return value


def _improved(result: Result, span: int) -> float:
    del span
    return _mean(result.improved())


def _improved_final(result: Result, span: int) -> float:
    return _last(smoothed(result.improved(), span))


def _training_loss(result: Result, span: int) -> float:
    return _last(smoothed(result.training_losses(), span))


def _mean(values: Vector) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _last(values: Vector) -> float:
    return float(values[-1]) if len(values) else math.nan


_MEASURES: Mapping[str, Callable[[Result, int], float]] = {
    "average": _of_users("average"),
    "std": _of_users("std"),
    "worst5": _of_users("percentile_5"),
    "best5": _of_users("percentile_95"),
    "honest_average": _of_users("average", honest=True),
    "honest_std": _of_users("std", honest=True),
    "honest_worst5": _of_users("percentile_5", honest=True),
    "avg_client": _of_users("average"),
    "avg_data": _of_users("average_weighted"),
    "uniform": _of_users("average_weighted"),
    "phd": _of_client(0),
    "non_phd": _of_client(1),
    "improved": _improved,
    "improved_final": _improved_final,
    "training_loss": _training_loss,
}

METRICS: Mapping[str, str] = {
    "average": "average accuracy of the users, %",
    "std": "std of the users' accuracies",
    "worst5": "worst 5 % (5th percentile), %",
    "best5": "best 5 % (95th percentile), %",
    "honest_average": "average accuracy of the honest users, %",
    "honest_std": "std of the honest users' accuracies",
    "honest_worst5": "worst 5 % of the honest users, %",
    "avg_client": "average over clients, %",
    "avg_data": "average over test examples, %",
    "uniform": "uniform: all test rows together, %",
    "phd": "PhD domain, %",
    "non_phd": "non-PhD domain, %",
    "improved": "improved participants, mean over rounds, %",
    "improved_final": "improved participants at the end, smoothed, %",
    "training_loss": "training loss at the end, smoothed",
}
"""What each metric is called in reports."""
