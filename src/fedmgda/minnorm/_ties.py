"""Where several λ give the same direction, the one nearest the center."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._certificate import gap_of, price_of
from fedmgda.minnorm._dual import NearestWeights
from fedmgda.minnorm._start import quiet_solver

if TYPE_CHECKING:
    from fedmgda._types import Indices, Matrix, Vector
    from fedmgda.minnorm._problem import Problem

__all__ = ["nearest_to_center"]

FACE = 1e-7  # multipliers below this (in natural units) may belong to the optimal face
FEW = 64  # users on the face up to which an interior point costs no more than the dual
DUAL_STEPS = 50
EPS = float(np.finfo(np.float64).eps)


def nearest_to_center(problem: Problem, lam: Vector) -> Vector:
    """Return the optimal weights nearest the center, given any optimal weights.

    All optimal λ have the same Kλ, so they differ by vectors of the kernel of K that sum to zero.
    The answer is kept only if its certificate is as good, up to rounding, as that of `lam`.
    """
    face = _face(problem, lam)
    basis = problem.range_of(face)
    if basis is None:
        return lam  # no kernel: λ is unique
    step = (_project(problem, lam, face, basis) - lam[face]) * problem.root[face]
    step -= basis @ (basis.T @ step)  # to rounding in natural units: only the kernel may move
    moved = lam.copy()
    moved[face] += step / problem.root[face]
    moved = problem.with_unit_sum(np.clip(moved, problem.lower, problem.upper))
    gap, moved_gap = (
        gap_of(problem.slope(point), point, problem.lower, problem.upper) for point in (lam, moved)
    )
    before, after = (np.linalg.norm(point - problem.center) for point in (lam, moved))
    size = float(problem.root @ lam)
    rounding = 8 * EPS * size * (8 * size + float(problem.root[face].max()))
    rounding += 1e-10 * problem.square(lam)
    as_good = moved_gap <= max(2 * gap, rounding)
    return moved if as_good and after <= (1 + 1e-14) * before else lam


def _face(problem: Problem, lam: Vector) -> Indices:
    """Return the users whose weight may differ between optimal weights."""
    slope = problem.slope(lam)
    price = price_of(slope, problem.lower, problem.upper)
    near = np.abs(slope - price) <= FACE * float(problem.root @ lam) * problem.root
    return ((problem.inside(lam) | near) & (problem.lower < problem.upper)).nonzero()[0]


def _project(problem: Problem, lam: Vector, face: Indices, basis: Matrix) -> Vector:
    """Project the center onto the face, with basisᵀ(√K_ii λ_i) as before."""
    lower, upper, center = problem.lower[face], problem.upper[face], problem.center[face]
    fixed = basis.T * (problem.root[face] / problem.root[face].max())
    fixed /= np.linalg.norm(fixed, axis=1, keepdims=True)
    goal = fixed @ lam[face]
    if len(face) > FEW:
        nearest = NearestWeights(system=fixed.T, goal=goal, center=center, lower=lower, upper=upper)
        return nearest.solve(np.zeros(len(goal)), 1e-13, DUAL_STEPS)[0].lam
    solver = quiet_solver(1e-12)
    solver.setup(np.eye(len(face)), -center, fixed, goal, x_l=lower, x_u=upper)
    solver.solve()
    point = solver.result.x
    free = point - lower > solver.result.z_bl
    free &= upper - point > solver.result.z_bu
    point = np.where(free, center, np.where(point - lower <= upper - point, lower, upper))
    # The shortest correction that meets the equations; repeated, as the small term leaves a rest.
    square = fixed[:, free] @ fixed[:, free].T + 1e-13 * np.eye(len(fixed))
    for _ in range(3):
        point[free] += np.linalg.solve(square, goal - fixed @ point) @ fixed[:, free]
    return point
