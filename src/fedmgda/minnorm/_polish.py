"""An active-set method: from a good start to a solution exact to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._certificate import gap_of

if TYPE_CHECKING:
    from fedmgda._types import Flags, Indices, Vector
    from fedmgda.minnorm._problem import Problem

__all__ = ["polish"]

EPS = float(np.finfo(np.float64).eps)
PROXIMAL = 1e-13  # keeps the linear systems solvable when K is singular; refinement removes it
REFINEMENTS = 6


def polish(problem: Problem, lam: Vector, free: Flags, limit: int) -> tuple[Vector, float, int]:
    """Return better weights, their gap and the number of steps taken.

    A step minimises over the free coordinates, the others kept on their bounds, and stops at the
    first bound it meets. At a minimum the bound with the worst multiplier is released. The best
    weights by certified gap are returned, so no failure of the method can make them worse.

    Args:
        problem: The scaled problem.
        lam: Of shape `(m,)`, feasible.
        free: Of shape `(m,)`: which coordinates may move at first; the others are on a bound.
        limit: The most steps to take, >= 1.
    """
    lam, free = lam.copy(), free.copy()
    best, best_gap = lam.copy(), gap_of(problem.slope(lam), lam, problem.lower, problem.upper)
    refined, last_residual = 0, np.inf
    for step in range(1, limit + 1):  # noqa: B007  the count is returned
        blocked = _move(problem, lam, free)
        slope = problem.slope(lam)
        gap = gap_of(slope, lam, problem.lower, problem.upper)
        if gap < best_gap:
            best, best_gap = lam.copy(), gap
        if blocked:
            refined, last_residual = 0, np.inf
            continue
        length = float(problem.root @ lam)
        noise = EPS * length
        if best_gap <= 0.25 * noise * length:
            break
        price, residual = _price(problem, slope, free)
        if residual > 4 * noise and residual < 0.5 * last_residual and refined < REFINEMENTS:
            refined, last_residual = refined + 1, residual
            continue
        if not _release(problem, lam, free, (slope - price) / problem.root, 4 * noise):
            break
        refined, last_residual = 0, np.inf
    return best, best_gap, step


def _move(problem: Problem, lam: Vector, free: Flags) -> bool:
    """Step to the minimum over the free coordinates or to the first bound; say if one was met."""
    index = free.nonzero()[0]
    if len(index) < 2:
        return False
    step = _newton_step(problem, lam, index)
    start, lower, upper = lam[index], problem.lower[index], problem.upper[index]
    bounds = np.where(step < 0, lower, upper)
    ratio = np.divide(bounds - start, step, out=np.full(len(index), np.inf), where=step != 0)
    first = int(ratio.argmin())
    meets = bool(ratio[first] <= 1.0)
    length = min(1.0, float(ratio[first]))
    lam[index] = np.minimum(np.maximum(start + length * step, lower), upper)
    if meets:
        lam[index[first]] = bounds[first]
        free[index[first]] = False
    return meets


def _newton_step(problem: Problem, lam: Vector, index: Indices) -> Vector:
    """Minimise the quadratic over steps of the indexed coordinates that sum to zero."""
    system, root = problem.system(index, lam), problem.root[index]
    proximal = PROXIMAL
    while proximal < 1.0:
        # Rounding may leave K slightly indefinite: then a stronger proximal term gives descent.
        step = system.step(proximal)
        if step @ system.slope <= 0.0:
            return _with_zero_sum(step / root, root)
        proximal *= 100.0
    return np.zeros(len(index))


def _with_zero_sum(step: Vector, root: Vector) -> Vector:
    """Take what rounding left of the sum from the user with the smallest norm: it counts least."""
    step[root.argmin()] -= step.sum()
    return step


def _price(problem: Problem, slope: Vector, free: Flags) -> tuple[float, float]:
    """Return the common slope ν of the free coordinates, and the largest deviation from it."""
    if not free.any():
        inner = np.where(problem.lower < problem.upper, slope, np.inf)
        return float(inner.min()), 0.0
    root, slope = problem.root[free], slope[free]
    share = (root.min() / root) ** 2
    price = float(share @ slope / share.sum())
    return price, float((np.abs(slope - price) / root).max())


def _release(problem: Problem, lam: Vector, free: Flags, excess: Vector, noise: float) -> bool:
    """Free the bound with the worst multiplier, if any is worse than rounding."""
    wants_up = ~free & (lam < problem.upper) & (excess < 0)
    wants_down = ~free & (lam > problem.lower) & (excess > 0)
    wrong = np.where(wants_up | wants_down, np.abs(excess), 0.0)
    worst = int(np.argmax(wrong))
    if wrong[worst] <= noise:
        return False
    free[worst] = True
    return True
