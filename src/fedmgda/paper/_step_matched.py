"""FedAvg-n with the step of FedMGDA+: a control, so that the direction alone tells them apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.rules import FedAvg, FedMGDA, Rule

if TYPE_CHECKING:
    from fedmgda._types import Matrix, RuleState, Vector
    from fedmgda.values import Cohort, Weighing

__all__ = ["StepMatched"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StepMatched(Rule):
    """d = ‖d*‖ d̄ / ‖d̄‖: the mean d̄ of unit updates, as long as their min-norm point d*.

    FedMGDA+ and FedAvg-n differ in the direction and, since d* is the shortest of all mixtures, in
    the length of the step too. This rule walks where FedAvg-n walks, in every round as far as
    FedMGDA+ would go on the same updates under the same schedule. λ carries the length: it sums to
    ‖d*‖ / ‖d̄‖.

    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(0, 1, 2), num_examples=np.ones(3), losses=np.ones(3),
    ...                 updates=np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    >>> [round(rule.aggregate(cohort).norm, 9) for rule in (StepMatched(), FedMGDA())]
    [0.707106781, 0.707106781]
    """

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Weigh as FedAvg-n does, then scale."""
        mean, _ = FedAvg(normalize=True).weigh(cohort, state, round_num)
        common, _ = FedMGDA().weigh(cohort, state, round_num)
        matrix, _ = cohort.updates.normalized_gramian()
        length = _length(matrix, mean.lam)
        ratio = _length(matrix, common.lam) / length if length > 0.0 else 1.0
        return replace(mean, weights=ratio * mean.weights, lam=ratio * mean.lam), state


def _length(matrix: Matrix, lam: Vector) -> float:
    """Return ‖Σ λ_i ḡ_i‖; whoever was dropped has no λ, and no row that can be multiplied."""
    held = lam > 0.0
    square = float(lam[held] @ matrix[np.ix_(held, held)] @ lam[held])
    return math.sqrt(max(square, 0.0))
