"""What is measured of a run, by the names the paper's tables have (SPEC 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedmgda.metrics import fairness, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fedmgda._types import Flags, Vector
    from fedmgda.paper._result import Result

__all__ = ["FIXED", "HEADINGS", "METRICS", "measure"]

LATE = 10
"""How many evaluations, the last ones, a late mean is over."""
STEP = 1e-3
"""The length from which on a move of the model counts as a step."""
SHORT = 1 / 16
"""The share of a turned step below which what is left of it is hardly a step."""


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
        return 100.0 * float(result.users.accuracies[client])

    return value


def _of_curve(name: str, last: int = 0) -> Callable[[Result, int], float]:
    """Measure the mean, over the last evaluations or over all, of what honest users have."""

    def value(result: Result, span: int) -> float:
        del span
        return float(np.mean(100.0 * result.curve(name)[-last:]))

    return value


def _global_accuracy(result: Result, span: int) -> float:
    del span
    return _last(result.global_accuracy())


def _share(column: str) -> Callable[[Result, int], float]:
    """Measure the rounds in which there is any of something that is counted, in percent."""

    def value(result: Result, span: int) -> float:
        del span
        counts = result.of_rounds(column)
        return _mean(100.0 * (counts[~np.isnan(counts)] > 0))

    return value


def _has_step(result: Result) -> Flags:
    return result.of_rounds("moved") >= STEP


def _stepped(result: Result, span: int) -> float:
    del span
    return math.nan if _unknown(result, "moved") else _mean(100.0 * _has_step(result))


def _improved_stepped(result: Result, span: int) -> float:
    del span
    return _mean(result.of_rounds("improved")[_has_step(result)])


def _short(result: Result, span: int) -> float:
    """Measure the rounds of a protected run whose step was cut to less than a sixteenth."""
    del span
    # A round that is held has no s, and no step that was cut.
    return math.nan if _unknown(result, "omega") else _mean(100.0 * (_scales(result) < SHORT))


def _scales(result: Result) -> Vector:
    scales = result.of_rounds("scale")
    return np.where(np.isnan(scales), np.inf, scales)


def _overridden(result: Result, span: int) -> float:
    del span
    left_out, asked = result.of_rounds("overridden"), result.of_rounds("participants")
    total = float(asked[~np.isnan(left_out)].sum())
    return 100.0 * float(np.nansum(left_out)) / total if total > 0 else math.nan


def _path(result: Result, span: int) -> float:
    del span
    return float(result.of_rounds("moved").sum())


def _improved(result: Result, span: int) -> float:
    del span
    return _mean(result.of_rounds("improved"))


def _improved_final(result: Result, span: int) -> float:
    return _last(smoothed(result.of_rounds("improved"), span))


def _training_loss(result: Result, span: int) -> float:
    return _last(smoothed(result.of_rounds("mean_local_losses"), span))


def _unknown(result: Result, column: str) -> bool:
    return bool(np.isnan(result.of_rounds(column)).all())


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
    "global_accuracy": _global_accuracy,
    "late_average": _of_curve("average", LATE),
    "curve_average": _of_curve("average"),
    "late_std": _of_curve("std", LATE),
    "late_worst5": _of_curve("percentile_5", LATE),
    "improved_stepped": _improved_stepped,
    "stepped": _stepped,
    "held": _share("held"),
    "quarantined": _share("quarantined"),
    "attackers_quarantined": _share("attackers_quarantined"),
    "path": _path,
    "short": _short,
    "overridden": _overridden,
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
    "global_accuracy": "accuracy on the official test set, %",
    "late_average": "late mean: average accuracy of the honest users, last ten evaluations, %",
    "curve_average": "curve mean: average accuracy of the honest users, all evaluations, %",
    "late_std": "late std of the honest users' accuracies, last ten evaluations",
    "late_worst5": "late worst 5 %: 5th percentile of the honest users, last ten evaluations, %",
    "improved_stepped": "improved participants, mean over rounds with a step, %",
    "stepped": "rounds with a step, %",
    "held": "rounds held, %",
    "quarantined": "rounds in which somebody was quarantined, %",
    "attackers_quarantined": "rounds in which an attacker was quarantined, %",
    "path": "length of the path: all steps of the model together",
    "short": "rounds whose step was cut to less than a sixteenth, %",
    "overridden": "participants that the step left out of its cone, %",
}
"""What each metric is called in reports."""

HEADINGS: Mapping[str, str] = {
    "late_average": "late mean",
    "curve_average": "curve mean",
    "late_std": "late std",
    "late_worst5": "late worst 5 %",
    "improved": "improved, %",
    "improved_stepped": "improved in rounds with a step, %",
    "stepped": "rounds with a step, %",
    "held": "held, %",
    "quarantined": "quarantined, %",
    "attackers_quarantined": "attacker quarantined, %",
    "path": "path",
    "short": "s below 1/16, %",
    "overridden": "overridden, %",
}
"""What the metrics that were fixed beforehand are called above a column."""

FIXED = tuple(HEADINGS)
"""What is measured of every study of rules, fixed before the results it is measured on."""
