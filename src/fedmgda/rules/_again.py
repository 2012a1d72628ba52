"""A rule once more, on what was written down of a round: for whoever does not take its word."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fedmgda.minnorm import slope_gap
from fedmgda.rules._afl import AFL
from fedmgda.rules._center import constraint_rows
from fedmgda.rules._fedavg import FedAvg
from fedmgda.rules._fedmgda import FedMGDA
from fedmgda.rules._qfedavg import QFedAvg
from fedmgda.rules._rows import unit_rows
from fedmgda.values import Weighing, value_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import RuleState, Vector
    from fedmgda.rules._rows import Rows
    from fedmgda.rules._rule import Rule
    from fedmgda.values import Cohort

    Inner: TypeAlias = Callable[[Vector], Vector]

__all__ = ["weigh_again"]

_FEASIBLE = 1e-8  # how far a constraint may be exceeded, over its largest coefficient


def weigh_again(
    rule: Rule,
    cohort: Cohort,
    lam: Vector,
    state: RuleState,
    round_num: int,
    *,
    inner: Inner | None = None,
) -> tuple[Weighing, RuleState] | None:
    """Return what a rule makes of a cohort, given the λ that it is said to have chosen.

    The λ of FedAvg, q-FedAvg and AFL is a formula, and computed anew. That of FedMGDA solves a
    problem: it is taken as it is, held against the constraints, and its duality gap computed from
    the products of the updates, apart from any solver.

    Args:
        rule: The rule.
        cohort: The participants; of their updates no more than the norms need be known.
        lam: Of shape `(m,)`, λ.
        state: The memory of the rule before the round.
        round_num: The round.
        inner: From weights w, of shape `(m,)`, to ⟨g_i, Σ w_j g_j⟩, of shape `(m,)`. Without it the
            gap is NaN. For a rule with constraints the Gram matrix itself is asked for too.

    Returns:
        The weighing, and the memory after the round; None for a rule that is none of these.

    Raises:
        ValueError: If λ is not feasible.
    """
    if isinstance(rule, FedAvg | QFedAvg | AFL):
        return rule.weigh(cohort, state, round_num)
    if not isinstance(rule, FedMGDA):
        return None
    epsilon = value_at(rule.epsilon, round_num)
    if epsilon == 0.0:
        return rule.weigh(cohort, state, round_num)
    norms = cohort.updates.norms()
    rows = unit_rows(cohort, norms, normalize=rule.normalize, zero_update=rule.zero_update)
    center = rows.center(rule.center)
    if rows.stalled or len(rows.kept) == 0:
        return rows.weighing(center), state
    slope = np.full(len(center), np.nan)
    if inner is not None:
        weights = np.zeros(len(lam))
        weights[rows.kept] = rows.scales * lam[rows.kept]
        slope = rows.scales * inner(weights)[rows.kept]
    gap = slope_gap(slope, lam[rows.kept], center, epsilon)
    if rule.constraints:
        gap = _constrained_gap(rule, rows, slope, lam[rows.kept], round_num)
    return rows.weighing(lam[rows.kept], gap if inner is not None else np.nan), state


def _constrained_gap(
    rule: FedMGDA, rows: Rows, slope: Vector, lam: Vector, round_num: int
) -> float:
    """Bound how far ½‖d‖² is from its least value, by a second solution and the gap of that."""
    left, right = constraint_rows(rule.constraints, rows.cohort, rows.kept)
    excess = (left @ lam - right) / np.maximum(np.abs(left).max(axis=1), np.finfo(float).tiny)
    if not excess.max() <= _FEASIBLE:
        raise ValueError(f"lam must satisfy rule.constraints, exceeds one by {excess.max():.3g}.")
    if np.isnan(slope).any():
        return np.nan
    best, _ = rule.weigh(rows.cohort, {}, round_num)
    matrix = rows.cohort.updates.gramian() @ best.weights
    shortest = float(best.weights @ matrix)
    return max(0.5 * (float(lam @ slope) - shortest), 0.0) + best.gap
