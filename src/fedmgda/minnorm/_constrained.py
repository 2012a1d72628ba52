"""The min-norm problem under linear preferences, A λ <= c, solved and certified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._preferences import Preferences
from fedmgda.minnorm._problem import GramProblem
from fedmgda.minnorm._projection import project_onto_simplex
from fedmgda.minnorm._start import quiet_solver

if TYPE_CHECKING:
    from fedmgda._types import Flags, Matrix, Vector
    from fedmgda.minnorm._solution import MinNormSolution

__all__ = ["min_norm_constrained"]

SATISFIED = 1e-9  # how far a scaled constraint may be exceeded
SUFFICIENT = 1e-13  # a gap, relative to the largest K_ii, that needs no second attempt


@final
@dataclass(frozen=True, slots=True)
class _Candidate:
    lam: Vector
    gap: float
    excess: float


def min_norm_constrained(gramian: Matrix, constraints: Matrix, bounds: Vector) -> MinNormSolution:
    """Return the weights of the shortest vector Σ λ_i g_i with A λ <= c, with a certificate.

    Solves min ½ λᵀKλ over {Σ λ = 1, λ >= 0, A λ <= c}. The guarantee is then one for mixtures:
    Σ μ_i ⟨g_i, d⟩ >= ‖d‖² - gap for all feasible μ.

    Args:
        gramian: Of shape `(m, m)`, K: finite; only its symmetric part matters.
        constraints: Of shape `(k, m)`, A.
        bounds: Of shape `(k,)`, c.

    Returns:
        The weights, ‖d‖ and the duality gap. The constraints hold to 1e-9 of the largest
        coefficient of their row. Common descent is claimed where λ is certified over the whole
        simplex.

    Raises:
        ValueError: If an argument has the wrong shape or is not finite, or no weights satisfy the
            constraints.

    >>> gramian = np.diag([1.0, 1.0, 9.0])
    >>> solution = min_norm_constrained(gramian, np.array([[0.0, 0.0, -1.0]]), np.array([-0.2]))
    >>> solution.lam.round(9).tolist()
    [0.4, 0.4, 0.2]

    References:
        Lin et al., Pareto Multi-Task Learning (2019), as suggested by the FedMGDA+ paper.
    """
    problem = GramProblem.of(gramian, None, 1.0)
    preferences = Preferences.of(constraints, bounds, len(problem.center))
    with np.errstate(all="ignore"):  # candidates that overflow are discarded by their certificate
        best, steps = _solve(problem, preferences)
        simplex_gap = _certified(problem, preferences, best.lam, 0.0 * preferences.limits).gap
        return problem.solution(best.lam, gap=best.gap, simplex_gap=simplex_gap, iterations=steps)


def _solve(problem: GramProblem, preferences: Preferences) -> tuple[_Candidate, int]:
    """Return the best candidate, from natural units or, for wild norms, from the given ones."""
    best, total = _Candidate(problem.center, np.inf, np.inf), 0
    for unit in (problem.root / problem.root.min(), np.ones(len(problem.center))):
        candidate, steps = _interior_point(problem, preferences, unit)
        total += steps
        if candidate.excess <= SATISFIED and candidate.gap < best.gap:
            best = candidate
        if best.gap <= SUFFICIENT:
            return best, total
    if best.excess > SATISFIED:
        lam = preferences.feasible_point()
        best = _certified(problem, preferences, lam, 0.0 * preferences.limits)
    return best, total


def _interior_point(
    problem: GramProblem, preferences: Preferences, unit: Vector
) -> tuple[_Candidate, int]:
    """Solve for y_i = λ_i unit_i, refine, and return the better of both and the iterations."""
    solver = quiet_solver()
    price = (problem.root.max() / unit.max()) ** 2  # what scales y back to the objective of λ
    solver.setup(
        problem.gramian / unit / unit[:, None] / price,
        np.zeros(len(unit)),
        1.0 / unit[None],
        np.ones(1),
        preferences.rows / unit,
        h_u=preferences.limits,
        x_l=np.zeros(len(unit)),
    )
    solver.solve()
    result = solver.result
    dual = np.maximum(np.nan_to_num(result.z_u), 0.0)
    found = _certified(problem, preferences, result.x / unit, dual * price)
    support = result.x > result.z_bl
    tight = dual > -preferences.excess(found.lam)
    for _ in range(2):
        exact = _refined(problem, preferences, found.lam, support, tight)
        if exact.gap <= found.gap and exact.excess <= max(found.excess, 1e-14):
            found = exact
    return found, int(result.info.iter)


def _refined(
    problem: GramProblem,
    preferences: Preferences,
    lam: Vector,
    support: Flags,
    tight: Flags,
) -> _Candidate:
    """Solve the optimality conditions on the support with the tight constraints as equations."""
    root = problem.root[support]
    equations = np.vstack((np.ones(len(root)), preferences.rows[tight][:, support])) / root
    size = np.linalg.norm(equations, axis=1, keepdims=True)
    equations = equations / np.where(size > 0, size, 1.0)
    inner = np.where(support, lam, 0.0)
    goal = np.concatenate(([1.0 - inner.sum()], -preferences.excess(inner)[tight]))
    goal /= np.where(size[:, 0] > 0, size[:, 0], 1.0)
    rows = len(equations)
    matrix = np.block(
        [
            [problem.cosines[np.ix_(support, support)], equations.T],
            [equations, np.zeros((rows, rows))],
        ]
    )
    slope = (problem.gramian @ inner)[support] / root
    solved = np.linalg.lstsq(matrix, np.concatenate((-slope, goal)), rcond=1e-14)[0]
    inner[support] += solved[: len(root)] / root
    dual = np.zeros(len(tight))
    dual[tight] = np.maximum(solved[len(root) + 1 :] / np.where(size > 0, size, 1.0)[1:, 0], 0.0)
    return _certified(problem, preferences, inner, dual)


def _certified(
    problem: GramProblem, preferences: Preferences, lam: Vector, dual: Vector
) -> _Candidate:
    """Put λ into the simplex and bound its gap with the multipliers `dual` >= 0 of A λ <= c.

    For all feasible μ: μᵀs >= μᵀs + dualᵀ(Aμ - c) >= min_i (s + Aᵀdual)_i - dualᵀc.
    """
    lam = project_onto_simplex(np.nan_to_num(lam))
    slope = problem.gramian @ lam
    bound = slope + preferences.rows.T @ dual
    price = float(bound.min())
    # λᵀs minus the bound, written as terms >= 0 for a feasible λ, so that little cancels.
    gap = float(lam @ (bound - price) - dual @ preferences.excess(lam))
    excess = float(preferences.excess(lam).max(initial=0.0))
    return _Candidate(lam, max(gap, 0.0) if np.isfinite(gap) else np.inf, excess)
