"""The linear systems behind a Newton step: as wide as its coordinates, or as the vectors are long.

All are in natural units, y_i = λ_i ‖g_i‖, so that the matrix has unit diagonal whatever the norms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = ["DenseSystem", "System", "ThinSystem", "range_of_columns", "range_of_square"]

EPS = float(np.finfo(np.float64).eps)
FEW = 64  # users up to which an eigendecomposition costs nothing worth saving


class System(Protocol):
    """The quadratic over steps of k coordinates that keep Σ λ."""

    @property
    def slope(self) -> Vector:
        """Of shape `(k,)`: its gradient, without what all coordinates have in common."""

    def step(self, proximal: float) -> Vector:
        """Minimise it plus ½ proximal ‖step‖²; NaN if the system is singular."""


@final
@dataclass(frozen=True)
class DenseSystem:
    """A system with the matrix of the cosines.

    Adding the square of the constraint changes no step that satisfies it, and makes the matrix
    regular unless λ itself is not unique.

    Attributes:
        matrix: Of shape `(k, k)`: cosines and the square of the constraint.
        slope: Of shape `(k,)`.
        ones: Of shape `(k,)`: the gradient of Σ λ.
    """

    matrix: Matrix
    slope: Vector
    ones: Vector

    @classmethod
    def of(cls, cosines: Matrix, slope: Vector, root: Vector) -> DenseSystem:
        """Take cosines, of shape `(k, k)`, slopes and norms, of shape `(k,)`."""
        ones = root.min() / root
        squares = ones**2
        slope = (slope - squares @ slope / squares.sum()) / root
        return cls(cosines + ones * ones[:, None], slope, ones)

    def step(self, proximal: float) -> Vector:
        """Solve for k unknowns."""
        sides = np.empty((len(self.ones), 2))
        sides[:, 0], sides[:, 1] = -self.slope, self.ones
        try:
            newton, shift = np.linalg.solve(_shifted(self.matrix, proximal), sides).T
        except np.linalg.LinAlgError:
            return np.full(len(self.slope), np.nan)
        step: Vector = newton - shift * (self.ones @ newton) / (self.ones @ shift)
        return step


@final
@dataclass(frozen=True)
class ThinSystem:
    """The same system where k exceeds the length d of the vectors: it has only d + 1 unknowns.

    The matrix is C Cᵀ with C of shape `(k, d + 1)`, unit vectors and the gradient of Σ λ, and both
    right sides are products with C; and (C Cᵀ + p)⁻¹ C = C (CᵀC + p)⁻¹.

    Attributes:
        factor: Of shape `(k, d + 1)`, C.
        weights: Of shape `(d + 1,)`: the slope is C times it.
    """

    factor: Matrix
    weights: Vector

    @classmethod
    def of(cls, units: Matrix, direction: Vector, root: Vector) -> ThinSystem:
        """Take unit vectors, of shape `(k, d)`, d = Σ λ_i g_i and norms, of shape `(k,)`."""
        smallest = root.min()
        ones = smallest / root
        price = ones**2 @ (root * (units @ direction)) / (ones**2).sum()
        return cls(np.column_stack((units, ones)), np.append(direction, -price / smallest))

    @cached_property
    def slope(self) -> Vector:
        """Of shape `(k,)`."""
        slope: Vector = self.factor @ self.weights
        return slope

    def step(self, proximal: float) -> Vector:
        """Solve for d + 1 unknowns."""
        values, vectors = self._spectrum
        seen = values > proximal * values[-1]  # the others are products of rounding with 1 / p
        vectors, values = vectors[:, seen], values[seen] + proximal
        ones = self.factor[:, -1]
        sides = np.stack((-self.weights, np.eye(len(self.weights))[-1]), axis=1)
        solved = vectors @ ((vectors.T @ sides) / values[:, None])
        newton, shift = (self.factor @ solved).T
        step: Vector = newton - shift * (ones @ newton) / (ones @ shift)
        return step

    @cached_property
    def _spectrum(self) -> tuple[Vector, Matrix]:
        values, vectors = np.linalg.eigh(self.factor.T @ self.factor)
        return values, vectors


def range_of_square(cosines: Matrix, root: Vector) -> Matrix | None:
    """Return orthonormal columns of the range of cosines and constraint; None if it is all.

    Args:
        cosines: Of shape `(k, k)`.
        root: Of shape `(k,)`, the norms.

    Returns:
        Of shape `(k, rank)`.
    """
    ones = root.min(initial=1.0) / root
    matrix = cosines + ones * ones[:, None]
    floor = 16 * EPS * len(root)
    try:
        np.linalg.cholesky(_shifted(matrix, -floor))
    except np.linalg.LinAlgError:
        if len(root) > FEW:
            return _range_by_pivots(matrix, floor)
        values, vectors = np.linalg.eigh(matrix)
        rank = int((values > floor).sum())
        return vectors[:, values > floor] if rank < len(root) else None
    return None


def _range_by_pivots(matrix: Matrix, floor: float) -> Matrix | None:
    """Return orthonormal columns of the range by a Cholesky factor that stops at its rank.

    It costs a fraction of an eigendecomposition, and the less the smaller the rank.
    """
    left, factor = matrix.diagonal().copy(), np.empty_like(matrix)
    rank = 0
    while rank < len(left) and left.max() > floor:
        pivot = int(left.argmax())
        row = matrix[pivot] - factor[:rank, pivot] @ factor[:rank]
        row /= np.sqrt(left[pivot])
        factor[rank] = row
        left -= row**2
        left[pivot] = 0.0
        rank += 1
    return np.linalg.qr(factor[:rank].T)[0] if rank < len(left) else None


def range_of_columns(factor: Matrix) -> Matrix:
    """Return orthonormal columns of the range of a matrix of shape `(k, n)` with k > n.

    The singular values are those of the vectors themselves, so the smallest that counts is far
    smaller than in the Gram matrix.
    """
    vectors, values, _ = np.linalg.svd(factor, full_matrices=False)
    found: Matrix = vectors[:, values > 16 * EPS * len(factor) * values[0]]
    return found


def _shifted(matrix: Matrix, shift: float) -> Matrix:
    """Return the matrix with a number added to its diagonal."""
    shifted = matrix.copy()
    shifted.reshape(-1)[:: len(matrix) + 1] += shift
    return shifted
