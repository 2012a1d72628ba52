"""What training did to the users: fairness, improvement of participants, Pareto stationarity."""

from __future__ import annotations

from fedmgda.metrics._constant import constant_losses
from fedmgda.metrics._fairness import Fairness, fairness
from fedmgda.metrics._improvement import improved_participants
from fedmgda.metrics._pareto import pareto_residual
from fedmgda.metrics._smoothing import smoothed

__all__ = [
    "Fairness",
    "constant_losses",
    "fairness",
    "improved_participants",
    "pareto_residual",
    "smoothed",
]
