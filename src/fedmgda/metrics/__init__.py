"""What training did to the users: metrics, fairness, who improved, Pareto stationarity."""

from __future__ import annotations

from fedmgda.metrics._answers import Answers, rarer_class
from fedmgda.metrics._catalogue import METRICS, Metric, default_metrics, measure
from fedmgda.metrics._constant import constant_losses
from fedmgda.metrics._fairness import Fairness, fairness
from fedmgda.metrics._improvement import improved_participants
from fedmgda.metrics._intervals import DRAWS, FEW_ROWS, interval, wilson
from fedmgda.metrics._paired import LEVEL, Paired, SameRows, known_mean, paired, paired_over_seeds
from fedmgda.metrics._pareto import pareto_residual
from fedmgda.metrics._smoothing import smoothed
from fedmgda.metrics._student import ONE_SIDED, t_quantile

__all__ = [
    "DRAWS",
    "FEW_ROWS",
    "LEVEL",
    "METRICS",
    "ONE_SIDED",
    "Answers",
    "Fairness",
    "Metric",
    "Paired",
    "SameRows",
    "constant_losses",
    "default_metrics",
    "fairness",
    "improved_participants",
    "interval",
    "known_mean",
    "measure",
    "paired",
    "paired_over_seeds",
    "pareto_residual",
    "rarer_class",
    "smoothed",
    "t_quantile",
    "wilson",
]
