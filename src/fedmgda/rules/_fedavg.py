"""FedAvg and FedAvg-n: the weighted mean of the updates, raw or of unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda.rules._center import Center, check_center
from fedmgda.rules._checks import check_name
from fedmgda.rules._rows import ZeroUpdate, raw_rows, unit_rows
from fedmgda.rules._rule import Rule

if TYPE_CHECKING:
    from fedmgda._types import RuleState
    from fedmgda.values import Cohort, Weighing

__all__ = ["FedAvg"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FedAvg(Rule):
    """d = Σ λ0_i g_i, with g_i / ‖g_i‖ for g_i where `normalize` is set (FedAvg-n).

    Attributes:
        center: λ0: "uniform", in proportion to the "examples" of the participants, or a positive
            number for every client, of which the participants' are scaled to sum to one.
        normalize: Whether each update is scaled to unit length first.
        zero_update: What to do with an update that cannot be normalised.

    >>> import numpy as np
    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(4, 7), updates=np.array([[1.0, 0.0], [0.0, 3.0]]),
    ...                 num_examples=np.array([10.0, 30.0]), losses=np.array([1.0, 1.0]))
    >>> FedAvg(center="examples").aggregate(cohort).direction
    array([0.25, 2.25])

    References:
        SPEC 1.1 and 1.2; McMahan et al. (2017).
    """

    center: Center = "uniform"
    normalize: bool = False
    zero_update: ZeroUpdate = "drop"

    def __post_init__(self) -> None:
        check_center(self.center)
        check_name("zero_update", self.zero_update, ZeroUpdate)

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Give everyone the weight λ0."""
        del round_num
        rows = raw_rows(cohort)
        if self.normalize:
            rows = unit_rows(cohort, cohort.updates.norms(), zero_update=self.zero_update)
        return rows.weighing(rows.center(self.center)), state
