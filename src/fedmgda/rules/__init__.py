"""Aggregation rules: what a server makes of the updates of one round.

A rule is a frozen dataclass of hyper-parameters that weighs the updates of a cohort (`weigh`); the
engine combines what it weighed. `rule.aggregate(cohort)` does both and returns an `Aggregate`: the
direction, the weights λ, and for every client the inner product that tells whether the step helps.
"""

from fedmgda.rules._afl import AFL
from fedmgda.rules._again import weigh_again
from fedmgda.rules._center import Center, Constraint, center_weights
from fedmgda.rules._fedavg import FedAvg
from fedmgda.rules._fedmgda import FedMGDA
from fedmgda.rules._presets import PRESETS, Preset, make_rule
from fedmgda.rules._qfedavg import LossScale, QFedAvg
from fedmgda.rules._rows import ZeroUpdate
from fedmgda.rules._rule import Rule

__all__ = [
    "AFL",
    "PRESETS",
    "Center",
    "Constraint",
    "FedAvg",
    "FedMGDA",
    "LossScale",
    "Preset",
    "QFedAvg",
    "Rule",
    "ZeroUpdate",
    "center_weights",
    "make_rule",
    "weigh_again",
]
