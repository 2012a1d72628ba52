"""The nearest step that no user opposes, from inner products alone, solved and certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._cone_problem import ConeProblem
from fedmgda.minnorm._pivot import block_pivot, descend
from fedmgda.minnorm._shortest import shortest
from fedmgda.minnorm._start import quiet_solver

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.minnorm._cone_problem import ConeSolution

__all__ = ["nearest_in_cone"]

EPS = float(np.finfo(np.float64).eps)


def nearest_in_cone(gramian: Matrix, inner: Vector, bound: float) -> ConeSolution:
    """Return the multipliers of the step nearest z that is worth `bound` to every user.

    Solves min ½‖z' - z‖² over {⟨u_i, z'⟩ >= bound for all i} by its dual, min ½ vᵀKv - vᵀb over
    v >= 0 with b_i = bound - ⟨u_i, z⟩, which needs the rows u_i and the step z only through
    inner products; then z' = z + Σ v_i u_i.

    Args:
        gramian: Of shape `(m, m)`, K_ij = ⟨u_i, u_j⟩: finite; only its symmetric part matters.
        inner: Of shape `(m,)`, ⟨u_i, z⟩.
        bound: What every ⟨u_i, z'⟩ shall reach, >= 0.

    Returns:
        The multipliers and their certificate. They are 0, exactly, if z itself is in the cone.
        If no step is worth so much to everyone (bound > 0 and a row is zero, or zero is in the
        convex hull of the rows), the violation says so: it is at least the bound.

    Raises:
        ValueError: If K is not square and finite, `inner` does not fit it or is not finite, or the
            bound is negative or not finite.

    >>> rows, step = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([-1.0, 2.0])
    >>> solution = nearest_in_cone(rows @ rows.T, rows @ step, 0.5)
    >>> solution.multipliers.tolist(), solution.violation
    ([1.5, 0.0], 0.0)
    >>> (step + solution.multipliers @ rows).tolist()
    [0.5, 2.0]
    """
    with np.errstate(all="ignore"):  # candidates that overflow are discarded by their certificate
        problem = ConeProblem.of(gramian, inner, bound)
        if not (problem.demand > 0.0).any():
            return problem.solution(np.zeros(len(problem.demand)), 0)
        if len(problem.demand) == 1:
            return problem.solution(problem.demand, 0)
        y, steps = _iterate(problem)
        y = shortest(problem, y)
        return problem.solution(np.where(y > EPS * y.sum(), y, 0.0), steps)


def _iterate(problem: ConeProblem) -> tuple[Vector, int]:
    """Go from the cheapest method to the most robust until a certificate meets the goal."""
    k = len(problem.demand)
    best: Vector = np.zeros(k)
    total = 0
    least = problem.error(best, problem.slack(best))
    for method in (_by_exchange, _from_interior_point, _from_zero):
        y, steps = method(problem)
        total += steps
        error = problem.error(y, problem.slack(y))
        if error < least:
            best, least = y, error
        if least <= 16 * problem.noise(best) * (1.0 + float(best.sum())):
            break
    return best, total


def _by_exchange(problem: ConeProblem) -> tuple[Vector, int]:
    return block_pivot(problem, 20 + len(problem.demand) // 10)


def _from_interior_point(problem: ConeProblem) -> tuple[Vector, int]:
    """Descend from the point and the support that an interior-point method finds."""
    k = len(problem.demand)
    solver = quiet_solver()
    solver.setup(problem.cosines, -problem.demand, x_l=np.zeros(k))
    solver.solve()
    point = np.nan_to_num(solver.result.x, nan=0.0, posinf=0.0, neginf=0.0)
    tight = point > solver.result.z_bl
    return descend(problem, np.where(tight, np.maximum(point, 0.0), 0.0), tight, 4 * k + 50)


def _from_zero(problem: ConeProblem) -> tuple[Vector, int]:
    k = len(problem.demand)
    return descend(problem, np.zeros(k), np.zeros(k, dtype=bool), 4 * k + 50)
