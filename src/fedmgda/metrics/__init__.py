"""What training did to the users: metrics, fairness, who improved, Pareto stationarity."""

from __future__ import annotations

from fedmgda.metrics._answers import Answers, rarer_class
from fedmgda.metrics._catalogue import METRICS, Metric, default_metrics, measure
from fedmgda.metrics._constant import constant_losses
from fedmgda.metrics._fairness import Fairness, fairness
from fedmgda.metrics._improvement import improved_participants
from fedmgda.metrics._intervals import wilson_interval
from fedmgda.metrics._pareto import pareto_residual
from fedmgda.metrics._smoothing import smoothed

__all__ = [
    "METRICS",
    "Answers",
    "Fairness",
    "Metric",
    "constant_losses",
    "default_metrics",
    "fairness",
    "improved_participants",
    "measure",
    "pareto_residual",
    "rarer_class",
    "smoothed",
    "wilson_interval",
]
