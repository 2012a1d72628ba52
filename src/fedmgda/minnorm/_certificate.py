"""The proof of optimality, computed from λ alone, whatever solver found it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._problem import GramProblem, box_bounds
from fedmgda.minnorm._real import as_real
from fedmgda.minnorm._row_problem import RowProblem

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.minnorm._problem import Problem

__all__ = ["duality_gap", "duality_gap_of_rows", "gap_of", "price_of", "slope_gap"]

FEASIBILITY_TOLERANCE = 1e-8


def duality_gap(
    gramian: Matrix, lam: Vector, center: Vector | None = None, epsilon: float = 1.0
) -> float:
    """Return λᵀs - min μᵀs over all feasible μ, where s = Kλ.

    With d the direction of λ and d* the best one: ½‖d‖² - ½‖d*‖² <= gap and ‖d - d*‖² <= gap.

    Args:
        gramian: Of shape `(m, m)`, K.
        lam: Of shape `(m,)`, feasible weights.
        center: Of shape `(m,)`, λ0 in the simplex; uniform if None.
        epsilon: Half the width of the box, in [0, 1].

    Returns:
        The gap, >= 0; 0 exactly at the optimum.

    >>> duality_gap(np.eye(2), np.array([0.5, 0.5]))
    0.0
    >>> duality_gap(np.eye(2), np.array([0.75, 0.25]))
    0.375
    """
    return _gap(GramProblem.of(gramian, center, epsilon), lam)


def duality_gap_of_rows(
    rows: Matrix, lam: Vector, center: Vector | None = None, epsilon: float = 1.0
) -> float:
    """Return what `duality_gap` returns for the Gram matrix of the rows, which is not formed.

    s_i = ⟨g_i, d⟩ is taken from d = Σ λ_i g_i itself.

    Args:
        rows: Of shape `(m, d)`; row i is g_i.
        lam: Of shape `(m,)`, feasible weights.
        center: Of shape `(m,)`, λ0 in the simplex; uniform if None.
        epsilon: Half the width of the box, in [0, 1].

    >>> duality_gap_of_rows(np.eye(2), np.array([0.75, 0.25]))
    0.375
    """
    return _gap(RowProblem.of(rows, center, epsilon), lam)


def slope_gap(slope: Vector, lam: Vector, center: Vector, epsilon: float = 1.0) -> float:
    """Return the duality gap of weights of which only the slope s = Kλ is known.

    Args:
        slope: Of shape `(m,)`: ⟨g_i, d⟩ for the direction d of λ.
        lam: Of shape `(m,)`, feasible weights.
        center: Of shape `(m,)`, λ0 in the simplex.
        epsilon: Half the width of the box, in [0, 1].

    >>> slope_gap(np.array([0.75, 0.25]), np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    0.375
    """
    _, lower, upper = box_bounds(center, epsilon, len(slope))
    _check_feasible(lam, lower, upper)
    return gap_of(slope, lam, lower, upper)


def _check_feasible(lam: Vector, lower: Vector, upper: Vector) -> None:
    outside = np.maximum(lower - lam, lam - upper).max()
    outside = max(float(outside), abs(float(lam.sum()) - 1.0))
    if not outside <= FEASIBILITY_TOLERANCE:
        raise ValueError(f"lam must be feasible for this center and epsilon, is {outside} outside.")


def _gap(problem: Problem, lam: Vector) -> float:
    lam = as_real(lam, "lam")
    _check_feasible(lam, problem.lower, problem.upper)
    gap = gap_of(problem.slope(lam), lam, problem.lower, problem.upper)
    return float(np.ldexp(gap, problem.exponent))


def gap_of(slope: Vector, lam: Vector, lower: Vector, upper: Vector) -> float:
    """Return the gap for the slope s = Kλ.

    For the price ν of the best μ, λᵀs - μᵀs = Σ (λ_i - μ_i)(s_i - ν), where μ_i is the lower bound
    if s_i > ν and the upper bound if s_i < ν: a sum of terms >= 0, so nothing cancels.
    """
    excess = slope - price_of(slope, lower, upper)
    terms = (lam - np.where(excess > 0, lower, upper)) * excess
    return max(float(terms.sum()), 0.0)


def price_of(slope: Vector, lower: Vector, upper: Vector) -> float:
    """Return the slope ν at which the mass runs out, given first to the smallest slopes.

    The best μ for a linear objective starts at the lower bounds and gives the remaining mass
    1 - Σ lower to the users in the order of their slopes, to each up to its upper bound.
    """
    mass = 1.0 - lower.sum()
    first = int(slope.argmin())
    if upper[first] - lower[first] >= mass:  # always so where the box leaves the whole simplex
        return float(slope[first])
    room = upper - lower
    order = np.argsort(slope, kind="stable")
    filled = np.cumsum(room[order])
    last = int(np.searchsorted(filled, mass))
    return float(slope[order[min(last, len(order) - 1)]])
