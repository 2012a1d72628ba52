"""Second methods for the same problem; they work on the rows and share nothing with the solver."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import lsq_linear, nnls

from unit.minnorm._asserts import linear_minimum

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector


def nnls_direction(rows: Matrix) -> Vector:
    """Minimise ‖Σ x_i g_i‖² + (Σ x_i - 1)² over x >= 0; x / Σ x is the min-norm point."""
    scale = np.linalg.norm(rows, axis=1).min()
    system = np.vstack((rows.T / scale, np.ones(len(rows))))
    goal = np.zeros(len(system))
    goal[-1] = 1.0
    x, _ = nnls(system, goal)
    return x / x.sum() @ rows


def bounded_direction(rows: Matrix, lower: Vector, upper: Vector) -> Vector | None:
    """Bounded least squares, with Σ λ = 1 enforced by an augmented Lagrangian.

    SciPy's method stops when the objective stalls, which it does early for nearly equal rows; its
    answer counts only if its own gap says that it is good to 1e-8.
    """
    weight = 4.0 * np.linalg.norm(rows, axis=1).max()
    system = np.vstack((rows.T, np.full(len(rows), weight)))
    goal = np.zeros(len(system))
    goal[-1] = weight
    for _ in range(60):
        lam = lsq_linear(
            system, goal, bounds=(lower, upper), method="bvls", tol=1e-15, max_iter=999
        ).x
        missing = 1.0 - lam.sum()
        goal[-1] += weight * missing
        if abs(missing) < 1e-15:
            break
    direction = lam @ rows
    slope = rows @ direction
    gap = lam @ slope - linear_minimum(slope, lower, upper)
    return direction if gap <= 1e-15 * max(direction @ direction, 0.1) else None


def enumerated_direction(rows: Matrix, lower: Vector, upper: Vector) -> Vector:
    """Try all ways to place every weight on its lower bound, its upper bound or between."""
    best = np.full(rows.shape[1], np.inf)
    for places in product((0, 1, 2), repeat=len(rows)):
        free = np.array(places) == 2
        lam = np.where(np.array(places) == 1, upper, lower)
        lam[free] = 0.0
        if free.any():
            lam[free] = _least_norm(rows[free], lam @ rows, 1.0 - lam.sum())
        inside = (lam >= lower - 1e-12).all() and (lam <= upper + 1e-12).all()
        direction = lam @ rows
        if inside and abs(lam.sum() - 1.0) < 1e-12 and direction @ direction < best @ best:
            best = direction
    return best


def _least_norm(rows: Matrix, offset: Vector, mass: float) -> Vector:
    """Minimise ‖offset + Σ λ_i g_i‖ over Σ λ_i = mass, by eliminating the first weight."""
    edges = rows[1:] - rows[0]
    rest = np.linalg.lstsq(edges.T, -(offset + mass * rows[0]), rcond=None)[0]
    return np.concatenate(([mass - rest.sum()], rest))


def nearest_step(rows: Matrix, step: Vector, bound: float) -> Vector | None:
    """Find the point nearest `step` with ⟨u_i, point⟩ >= bound, from the rows themselves.

    Lawson and Hanson's least distance programming: with the residual (x, t) of the non-negative
    least squares problem Σ y_i (u_i, b_i) ≈ (0, 1), the shortest x with ⟨u_i, x⟩ >= b_i is -x / t.
    The lengths of rows do not matter to it, and t is well away from 0 if x is about as long as 1.

    SciPy's method stops early on some opposed rows; its answer counts only if its own
    certificate, taken from the rows, says that it is good to 1e-7.
    """
    lengths = np.linalg.norm(rows, axis=1)
    units = rows[lengths > 0.0] / lengths[lengths > 0.0, None]
    demand = bound / lengths[lengths > 0.0] - units @ step
    scale = float(demand.max(initial=0.0))
    if scale <= 0.0:
        return step
    for _ in range(3):
        system = np.vstack((units.T, demand / scale))
        goal = np.zeros(len(system))
        goal[-1] = 1.0
        y, _ = nnls(system, goal, maxiter=30 * len(units))
        rest = system @ y - goal
        multipliers, move = (-scale / rest[-1] * part for part in (y, rest[:-1]))
        scale = float(np.linalg.norm(move))
    slack = units @ move - demand
    error = multipliers @ np.abs(slack) - min(slack.min(), 0.0) * multipliers.sum()
    return step + move if error <= (1e-7 * scale) ** 2 else None
