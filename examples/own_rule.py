"""A rule of one's own: the median of each coordinate, as a file beside a spec.

Run it with: fedmgda run spec.toml -c rule.name=own_rule:Median -c 'rule.options={ scale = 0.5 }'
or, from Python, as the argument `rule=Median(scale=0.5)` of `fedmgda.train`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from fedmgda import Rule, Weighing

if TYPE_CHECKING:
    from fedmgda import Cohort
    from fedmgda._types import RuleState


@final
@dataclass(frozen=True, kw_only=True)
class Median(Rule):
    """d = scale * median of the updates, coordinate by coordinate.

    Most rules only weigh: they ask `cohort.updates` for norms and Gram matrix and return weights,
    with d = sum of weights_i g_i formed by the engine. A median is no such sum, so this one says
    that it needs the rows, and gives the direction itself beside weights for the record.
    """

    needs_rows: ClassVar[bool] = True
    scale: float = 1.0

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Return what was decided, and what to remember: a dict of arrays, here as it was."""
        del round_num
        lam = np.full(len(cohort.client_ids), 1.0 / len(cohort.client_ids))
        rows = np.asarray(cohort.updates)  # of shape (m, d): row i is w_t - w_i
        direction = self.scale * np.median(rows, axis=0).astype(rows.dtype)
        return Weighing(weights=lam, lam=lam, direction=direction), state
