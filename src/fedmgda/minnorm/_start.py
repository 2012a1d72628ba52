"""Approximate solutions to start the exact method from, each with a guess of the active bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import piqp

from fedmgda.minnorm._gradient import projected_gradient
from fedmgda.minnorm._projection import project_onto_box

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Flags, Vector
    from fedmgda.minnorm._problem import GramProblem

    Start: TypeAlias = tuple[Vector, Flags, int]
    """Feasible weights, which of them are off their bounds, and how many steps to spend."""

__all__ = ["quiet_solver", "starts"]

MANY = 300  # users from which 60 gradient steps are cheaper than an interior point
TAME = 10.0  # a ratio of norms up to which those steps get near the answer


def starts(problem: GramProblem) -> Iterator[Start]:
    """Yield feasible weights, which of them are off their bounds, and how many steps to spend.

    The cheapest guess comes first, the last one is the most robust.
    """
    m = len(problem.center)
    if m >= MANY and problem.root.max() <= TAME * problem.root.min():
        lam = projected_gradient(problem)
        free = problem.inside(lam)
        yield lam, free, _worthwhile_steps(m, int(free.sum()))
    point, free = _interior_point(problem)
    if np.isfinite(point).all():
        lam = _on_bounds(problem, point, free)
        yield lam, problem.inside(lam), 4 * m + 50
    # All mass to the smallest norms: near the answer where norms differ by many decades.
    lam = problem.with_unit_sum(problem.lower)
    yield lam, problem.inside(lam), 4 * m + 50


def _worthwhile_steps(m: int, num_free: int) -> int:
    """Return how many exact steps cost about as much as the interior point they may save.

    A step multiplies with K and solves for the free users; an interior point factorises K.
    """
    return 2 + m**3 // (4 * (m**2 + num_free**3))


def quiet_solver(tolerance: float = 1e-11) -> Any:
    """Return an interior-point solver that prints nothing and works to `tolerance`."""
    solver = piqp.DenseSolver()
    settings = solver.settings
    settings.verbose = False
    settings.eps_abs = settings.eps_rel = tolerance
    settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = tolerance
    settings.max_iter = 100
    return solver


def _interior_point(problem: GramProblem) -> tuple[Vector, Flags]:
    """Solve in natural units, y_i = λ_i √K_ii over the smallest root, so that no norm dominates."""
    unit = problem.root / problem.root.min()
    solver = quiet_solver()
    lower, upper = problem.lower * unit, problem.upper * unit
    solver.setup(
        problem.cosines, np.zeros(len(unit)), 1.0 / unit[None], np.ones(1), x_l=lower, x_u=upper
    )
    solver.solve()
    result = solver.result
    point = result.x
    # A bound is active where its multiplier outweighs the distance to it.
    free = (point - lower > result.z_bl) & (upper - point > result.z_bu)
    return point / unit, free


def _on_bounds(problem: GramProblem, point: Vector, free: Flags) -> Vector:
    """Put the other coordinates on their nearer bound and repair the sum with the free ones."""
    lower, upper = problem.lower, problem.upper
    # Moving a user with a large norm would change the direction most, so it moves least.
    give = (problem.root.min() / problem.root) ** 2
    if free.all():
        return project_onto_box(point, lower, upper, give)
    nearer = np.where(point - lower <= upper - point, lower, upper)
    low, high = np.where(free, lower, nearer), np.where(free, upper, nearer)
    if not low.sum() <= 1.0 <= high.sum():
        low, high = lower, upper
    return project_onto_box(point, low, high, give)
