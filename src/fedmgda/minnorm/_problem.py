"""The checked and scaled form of the problem that all parts of the solver share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._real import as_real
from fedmgda.minnorm._solution import MinNormSolution, Status
from fedmgda.minnorm._system import DenseSystem, range_of_square

if TYPE_CHECKING:
    from fedmgda._types import Flags, Indices, Matrix, Vector
    from fedmgda.minnorm._system import System

__all__ = ["GramProblem", "Problem", "box_bounds", "check_gramian", "scale_exponent"]

CENTER_TOLERANCE = 1e-9
GAP_GOAL = 1e-10
MANY = 64  # users from which it pays to look at some cosines only
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True)
class Problem(ABC):
    """min ½ ‖Σ λ_i g_i‖² over {Σ λ = 1, lower <= λ <= upper}, scaled to a largest ‖g_i‖ near 1.

    Attributes:
        center: Of shape `(m,)`, sums to 1.
        lower: Of shape `(m,)`.
        upper: Of shape `(m,)`.
        exponent: Squares of what was given are divided by 2^exponent, an even power: exact.
    """

    center: Vector
    lower: Vector
    upper: Vector
    exponent: int

    @property
    @abstractmethod
    def root(self) -> Vector:
        """Of shape `(m,)`, ‖g_i‖: the natural unit of each user; the smallest if one has none."""

    @property
    @abstractmethod
    def top(self) -> float:
        """The largest ‖g_i‖²."""

    @abstractmethod
    def slope(self, lam: Vector) -> Vector:
        """Return s with s_i = ⟨g_i, d⟩ for d = Σ λ_i g_i, of shape `(m,)`."""

    @abstractmethod
    def measure(self, lam: Vector) -> tuple[Vector, float]:
        """Return the slope and ‖d‖², which rounding may bring below 0."""

    def square(self, lam: Vector) -> float:
        """Return ‖d‖²."""
        return self.measure(lam)[1]

    @abstractmethod
    def rounding(self, lam: Vector) -> Vector:
        """Bound by how much rounding can have moved the slope, of shape `(m,)`."""

    @abstractmethod
    def system(self, index: Indices, lam: Vector) -> System:
        """Return what determines the Newton step of the indexed coordinates at λ."""

    @abstractmethod
    def range_of(self, face: Indices) -> Matrix | None:
        """Return orthonormal columns, as many as the rank, of what d and Σ λ see of the face.

        In natural units; None if the face has no kernel.
        """

    @property
    def is_simplex(self) -> bool:
        """Whether the box leaves the whole simplex feasible."""
        return len(self.center) == 1 or (not self.lower.any() and bool((self.upper == 1).all()))

    def inside(self, lam: Vector) -> Flags:
        """Return which weights are off their bounds, of shape `(m,)`."""
        return (self.lower < lam) & (lam < self.upper)

    def solution(
        self, lam: Vector, *, gap: float, simplex_gap: float, iterations: int | None
    ) -> MinNormSolution:
        """Return the answer in the units that were given; no iterations mean a closed form."""
        slope, square = self.measure(lam)
        norm_squared = max(square, 0.0)
        # A gap below ‖d‖² proves that all slopes are positive; they must also exceed rounding.
        proves = simplex_gap < norm_squared and bool((slope > self.rounding(lam)).all())
        status = Status.CLOSED_FORM
        if iterations is not None:
            status = Status.OPTIMAL if gap <= GAP_GOAL * self.top else Status.INACCURATE
        return MinNormSolution(
            lam=lam,
            norm=float(np.ldexp(np.sqrt(norm_squared), self.exponent // 2)),
            gap=float(np.ldexp(gap, self.exponent)),
            iterations=iterations or 0,
            status=status,
            proves_common_descent=proves,
        )

    def with_unit_sum(self, lam: Vector) -> Vector:
        """Give what is missing of the sum to the users with the smallest norms: it counts least."""
        missing = 1.0 - lam.sum()
        if missing == 0.0:
            return lam
        bound = self.upper if missing > 0 else self.lower
        first = int(self.root.argmin())
        if abs(bound[first] - lam[first]) > 2.0 * abs(missing):  # it has room for all
            lam = lam.copy()
            lam[first] += missing
            return lam
        order = self.root.argsort(kind="stable")
        room = np.abs(bound - lam)[order]
        lam = lam.copy()
        given = np.minimum(np.maximum(abs(missing) - (room.cumsum() - room), 0.0), room)
        lam[order] += np.copysign(given, missing)
        return np.minimum(np.maximum(lam, self.lower), self.upper)


@final
@dataclass(frozen=True, kw_only=True)
class GramProblem(Problem):
    """The problem as it is seen in the Gram matrix K.

    Attributes:
        gramian: Of shape `(m, m)`, symmetric, divided by 2^exponent.
    """

    gramian: Matrix

    @classmethod
    def of(cls, gramian: Matrix, center: Vector | None, epsilon: float) -> GramProblem:
        """Check the arguments of `min_norm` and scale them."""
        matrix = check_gramian(gramian)
        lam0, lower, upper = box_bounds(center, epsilon, len(matrix))
        exponent = scale_exponent(matrix)
        matrix = np.ldexp(matrix, -exponent) if exponent else matrix
        matrix = matrix + matrix.T  # λᵀKλ sees only the symmetric part
        matrix *= 0.5
        return cls(
            gramian=matrix,
            center=lam0,
            lower=lower,
            upper=upper,
            exponent=exponent,
        )

    @cached_property
    def root(self) -> Vector:
        """Of shape `(m,)`, √K_ii."""
        diagonal = np.maximum(self.gramian.diagonal(), 0.0)
        if diagonal.all():
            return np.sqrt(diagonal)
        positive = diagonal[diagonal > 0]
        return np.sqrt(np.where(diagonal > 0, diagonal, positive.min() if len(positive) else 1.0))

    @property
    def top(self) -> float:
        """The largest K_ii."""
        return float(self.gramian.diagonal().max())

    def slope(self, lam: Vector) -> Vector:
        """Return Kλ."""
        return self.gramian @ lam

    def measure(self, lam: Vector) -> tuple[Vector, float]:
        """Return Kλ and λᵀKλ."""
        slope = self.gramian @ lam
        return slope, float(lam @ slope)

    def rounding(self, lam: Vector) -> Vector:
        """Bound the rounding of Kλ for K as it is given."""
        return (len(lam) + 2) * EPS * (np.abs(self.gramian) @ lam)

    def system(self, index: Indices, lam: Vector) -> DenseSystem:
        """Take the rows and columns of K."""
        cosines = self._cosines_of(index)
        if len(index) == len(lam):
            return DenseSystem.of(cosines, self.gramian @ lam, self.root)
        return DenseSystem.of(cosines, self.gramian[index] @ lam, self.root[index])

    def range_of(self, face: Indices) -> Matrix | None:
        """Take the rows and columns of K."""
        return range_of_square(self._cosines_of(face), self.root[face])

    @cached_property
    def cosines(self) -> Matrix:
        """Of shape `(m, m)`: K in natural units, with unit diagonal except for zero users.

        Cauchy and Schwarz bound it for every true Gram matrix; any other is made to obey.
        """
        return _cosines(self.gramian, self.root)

    def _cosines_of(self, index: Indices) -> Matrix:
        """Return rows and columns of the cosines; of many users only those are computed."""
        if len(index) == len(self.root):
            return self.cosines
        if len(self.root) <= MANY or 2 * len(index) ** 2 > len(self.root) ** 2:
            return self.cosines[index[:, None], index]
        return _cosines(self.gramian[index[:, None], index], self.root[index])


def _cosines(gramian: Matrix, root: Vector) -> Matrix:
    cosines = gramian / root
    cosines /= root[:, None]
    if not np.isfinite(cosines).all():
        cosines = np.nan_to_num(cosines)
    np.maximum(cosines, -1.0, out=cosines)
    return np.minimum(cosines, 1.0, out=cosines)


def check_gramian(gramian: Matrix) -> Matrix:
    """Return the Gram matrix as float64, or raise a sentence saying why it is none."""
    matrix = as_real(gramian, "gramian")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"gramian must have shape (m, m) with m >= 1, got {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"gramian must be finite, got {matrix[row, column]} at row {row}, column {column}: "
            "drop users whose update is not finite."
        )
    return matrix


def box_bounds(
    center: Vector | None, epsilon: float, num_clients: int
) -> tuple[Vector, Vector, Vector]:
    """Return λ0 and the least and largest λ within epsilon of it, or raise a sentence."""
    lam0 = _checked_center(center, num_clients)
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"epsilon must lie in [0, 1], got {epsilon}.")
    return lam0, np.maximum(lam0 - epsilon, 0.0), np.minimum(lam0 + epsilon, 1.0)


def _checked_center(center: Vector | None, num_clients: int) -> Vector:
    """Return λ0 as float64 with sum 1 (uniform if None), or raise a sentence."""
    if center is None:
        return np.full(num_clients, 1.0 / num_clients)
    lam0 = as_real(center, "center")
    if lam0.shape != (num_clients,):
        raise ValueError(f"center must have shape ({num_clients},), got {lam0.shape}.")
    if not (np.isfinite(lam0).all() and (lam0 >= 0).all()):
        raise ValueError(f"center must be finite and >= 0, got a smallest entry of {lam0.min()}.")
    if abs(lam0.sum() - 1.0) > CENTER_TOLERANCE:
        raise ValueError(f"center must sum to 1, got {lam0.sum()}: divide it by its sum.")
    normalized: Vector = lam0 / lam0.sum()
    return normalized


def scale_exponent(matrix: Matrix) -> int:
    """Return the even e for which the largest diagonal entry divided by 2^e is near 1."""
    top = matrix.diagonal().max()
    top = top if top > 0 else np.abs(matrix).max()
    return 2 * (int(np.frexp(top)[1]) // 2)
