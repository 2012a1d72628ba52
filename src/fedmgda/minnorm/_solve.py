"""The min-norm problem over the simplex cut by a box, solved and certified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._certificate import gap_of
from fedmgda.minnorm._polish import polish
from fedmgda.minnorm._problem import GramProblem
from fedmgda.minnorm._start import starts
from fedmgda.minnorm._ties import nearest_to_center

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda._types import Matrix, Vector
    from fedmgda.minnorm._problem import Problem
    from fedmgda.minnorm._solution import MinNormSolution
    from fedmgda.minnorm._start import Start

__all__ = ["best_of", "certified", "min_norm", "only_center", "segment"]

EPS = float(np.finfo(np.float64).eps)


def min_norm(
    gramian: Matrix, center: Vector | None = None, epsilon: float = 1.0
) -> MinNormSolution:
    """Return the weights of the shortest vector Σ λ_i g_i near the center, with a certificate.

    Solves min ½ λᵀKλ over {Σ λ = 1, |λ - center| <= epsilon, λ >= 0} from the Gram matrix
    K_ij = ⟨g_i, g_j⟩ alone. Where the minimum has several λ, the one nearest the center is taken.

    Args:
        gramian: Of shape `(m, m)`, K: finite; only its symmetric part matters.
        center: Of shape `(m,)`, λ0 in the simplex; uniform if None.
        epsilon: Half the width of the box, in [0, 1]: 0 returns the center itself, 1 is MGDA.

    Returns:
        The weights, ‖d‖ and the duality gap.

    Raises:
        ValueError: If K is not square and finite, the center is not in the simplex, or epsilon is
            not in [0, 1].

    >>> solution = min_norm(np.array([[1.0, 0.0], [0.0, 4.0]]))
    >>> solution.lam.tolist(), round(solution.norm, 6), solution.proves_common_descent
    ([0.8, 0.2], 0.894427, True)

    References:
        FedMGDA+, Algorithm 1, line 6.
    """
    problem = GramProblem.of(gramian, center, epsilon)
    with np.errstate(all="ignore"):  # candidates that overflow are discarded by their certificate
        if epsilon == 0.0:
            return only_center(problem, center)
        if len(problem.center) == 1 or not problem.gramian.any():
            return certified(problem, problem.center, None)
        if len(problem.center) == 2:
            return certified(problem, segment(problem), None)
        lam, steps = best_of(problem, starts(problem))
        lam = nearest_to_center(problem, problem.with_unit_sum(lam))
        return certified(problem, lam, steps)


def only_center(problem: Problem, center: Vector | None) -> MinNormSolution:
    """Return the one feasible point, bit for bit as it was given; nothing is left to gain."""
    lam = problem.center if center is None else np.array(center, dtype=np.float64)
    simplex_gap = 0.0 if problem.is_simplex else np.inf
    return problem.solution(lam, gap=0.0, simplex_gap=simplex_gap, iterations=None)


def segment(problem: GramProblem) -> Vector:
    """Return the minimum over λ = (t, 1 - t), which has a closed form."""
    (k11, k12), (_, k22) = problem.gramian.tolist()
    low = float(max(problem.lower[0], 1.0 - problem.upper[1]))
    high = float(min(problem.upper[0], 1.0 - problem.lower[1]))
    t = float(problem.center[0])
    fall = (1.0 - t) * (k22 - k12) - t * (k11 - k12)
    curvature = (k11 - k12) + (k22 - k12)
    tiny = 4 * EPS * max(abs(k11), abs(k22))
    if curvature > tiny:
        t = (k22 - k12) / curvature
        if low <= t <= high:  # 1 - t would lose a tiny λ_2
            return np.array([t, np.clip((k11 - k12) / curvature, 1.0 - high, 1.0 - low)])
    elif abs(fall) > tiny:
        t = high if fall > 0 else low
    t = min(max(t, low), high)
    return np.array([t, 1.0 - t])


def best_of(problem: Problem, guesses: Iterable[Start]) -> tuple[Vector, int]:
    """Polish one start after the other until a certificate meets the goal; return the best."""
    best, best_gap, total = problem.center, np.inf, 0
    for start, free, limit in guesses:
        lam, gap, steps = polish(problem, start, free, limit)
        total += steps
        if gap < best_gap:
            best, best_gap = lam, gap
        length = float(problem.root @ best)
        rounding = EPS * length * (len(best) * length + float(problem.root.max()))
        if best_gap <= 16 * rounding or best_gap <= 1e-9 * problem.square(best):
            break
    return best, total


def certified(problem: Problem, lam: Vector, steps: int | None) -> MinNormSolution:
    """Return the answer with its certificate; no steps mean a closed form."""
    gap = gap_of(problem.slope(lam), lam, problem.lower, problem.upper)
    simplex_gap = gap if problem.is_simplex else np.inf
    return problem.solution(lam, gap=gap, simplex_gap=simplex_gap, iterations=steps)
