"""Laws of a solution, stated once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector


def box(center: Vector | None, epsilon: float, m: int) -> tuple[Vector, Vector]:
    lam0 = np.full(m, 1.0 / m) if center is None else center
    return np.maximum(lam0 - epsilon, 0.0), np.minimum(lam0 + epsilon, 1.0)


def assert_feasible(lam: Vector, center: Vector | None, epsilon: float) -> None:
    lower, upper = box(center, epsilon, len(lam))
    assert lam.dtype == np.float64
    assert np.isfinite(lam).all()
    assert abs(lam.sum() - 1.0) <= 1e-14 * max(10, len(lam))
    assert (lam >= lower - 1e-15).all()
    assert (lam <= upper + 1e-15).all()
    assert (lam >= 0).all()


def linear_minimum(slope: Vector, lower: Vector, upper: Vector) -> float:
    """Return min μᵀs over the box and the simplex, one user after the other."""
    mass, value = 1.0 - lower.sum(), float(lower @ slope)
    for i in np.argsort(slope):
        given = min(mass, upper[i] - lower[i])
        value += given * float(slope[i])
        mass -= given
    return value


def kkt_residual(gramian: Matrix, lam: Vector, lower: Vector, upper: Vector) -> float:
    """Return by how much the slopes break: >= ν on the lower bound, <= ν on the upper, = ν inside.

    That is: a weight that can fall must not have a larger slope than one that can grow.
    """
    slope = gramian @ lam
    can_fall, can_grow = lam > lower + 1e-12, lam < upper - 1e-12
    if not (can_fall.any() and can_grow.any()):
        return 0.0
    return max(float(slope[can_fall].max() - slope[can_grow].min()), 0.0)
