"""Where several multipliers give the same step, the shortest of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._start import quiet_solver

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.minnorm._cone_problem import ConeProblem

__all__ = ["shortest"]

FACE = 1e-7  # slacks below this may belong to the optimal face
EPS = float(np.finfo(np.float64).eps)


def shortest(problem: ConeProblem, y: Vector) -> Vector:
    """Return the optimal y of smallest Euclidean norm, given any optimal y.

    All optimal y have the same Cy, so they differ by vectors of the kernel of C. The answer is kept
    only if its certificate is as good, up to rounding, as that of `y`.
    """
    slack = problem.slack(y)
    face = np.flatnonzero((y > 0.0) | (np.abs(slack) <= FACE * (1.0 + float(y.sum()))))
    basis = _range(problem.cosines[face[:, None], face])
    if basis is None:
        return y  # no kernel: y is unique
    goal = basis.T @ y[face]
    part: Vector = basis @ goal
    if (part < 0.0).any():
        part = _nonnegative(basis, goal)
    moved = np.zeros(len(y))
    moved[face] = np.maximum(part, 0.0)
    error, moved_error = problem.error(y, slack), problem.error(moved, problem.slack(moved))
    rounding = 16 * problem.noise(y) * (1.0 + float(y.sum()))
    as_good = moved_error <= max(2 * error, rounding)
    return moved if as_good and moved @ moved <= (1 + 1e-14) * (y @ y) else y


def _range(matrix: Matrix) -> Matrix | None:
    """Return orthonormal columns, as many as the rank; None if the rank is full."""
    floor = 16 * EPS * len(matrix)
    try:
        np.linalg.cholesky(matrix - floor * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        range_: Matrix = vectors[:, values > floor]
        return range_
    return None


def _nonnegative(basis: Matrix, goal: Vector) -> Vector:
    """Return the shortest y >= 0 with basisᵀ y = goal."""
    size = len(basis)
    solver = quiet_solver(1e-12)
    scale = float(np.abs(goal).max())
    solver.setup(np.eye(size), np.zeros(size), basis.T, goal / scale, x_l=np.zeros(size))
    solver.solve()
    free = solver.result.x > solver.result.z_bl
    part = np.zeros(size)
    # The shortest answer on this support; repeated, as the small term leaves a rest.
    square = basis[free].T @ basis[free] + 1e-13 * np.eye(basis.shape[1])
    for _ in range(3):
        part[free] += basis[free] @ np.linalg.solve(square, goal - basis.T @ part)
    return part
