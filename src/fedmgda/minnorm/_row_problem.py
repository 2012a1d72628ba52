"""The problem as it is seen in the vectors themselves, where they are more than they are long."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._problem import GramProblem, Problem, box_bounds
from fedmgda.minnorm._real import as_real
from fedmgda.minnorm._system import DenseSystem, ThinSystem, range_of_columns, range_of_square

if TYPE_CHECKING:
    from fedmgda._types import Indices, Matrix, Vector
    from fedmgda.minnorm._system import System

__all__ = ["RowProblem"]

EPS = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, kw_only=True)
class RowProblem(Problem):
    """The problem of m vectors of length d: no matrix of m x m numbers is formed.

    Attributes:
        bordered: Of shape `(m, d + 1)`, float64: the vectors divided by 2^(exponent / 2), and ones.
    """

    bordered: Matrix

    @classmethod
    def of(cls, rows: Matrix, center: Vector | None, epsilon: float) -> RowProblem:
        """Check the arguments of `min_norm_of_rows` and scale them."""
        rows = as_real(rows, "rows", single=True)
        if rows.ndim != 2 or rows.size == 0:
            raise ValueError(f"rows must have shape (m, d) with m, d >= 1, got {rows.shape}.")
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"rows must be finite, row {row} is not: drop that user.")
        lam0, lower, upper = box_bounds(center, epsilon, len(rows))
        exponent = int(np.frexp(np.abs(rows).max())[1])
        bordered = np.ones((len(rows), rows.shape[1] + 1))
        np.ldexp(rows, -exponent, out=bordered[:, :-1])
        return cls(bordered=bordered, center=lam0, lower=lower, upper=upper, exponent=2 * exponent)

    def by_products(self) -> GramProblem:
        """Return the problem as it is seen in the Gram matrix: for few rows."""
        return GramProblem(
            gramian=self.rows @ self.rows.T,
            center=self.center,
            lower=self.lower,
            upper=self.upper,
            exponent=self.exponent,
        )

    @property
    def rows(self) -> Matrix:
        """Of shape `(m, d)`, the scaled vectors."""
        return self.bordered[:, :-1]

    @cached_property
    def root(self) -> Vector:
        """Of shape `(m,)`, ‖g_i‖."""
        norms = np.linalg.norm(self.rows, axis=1)
        positive = norms[norms > 0]
        return np.where(norms > 0, norms, positive.min() if len(positive) else 1.0)

    @property
    def top(self) -> float:
        """The largest ‖g_i‖²."""
        return float(self.root.max()) ** 2

    def slope(self, lam: Vector) -> Vector:
        """Return ⟨g_i, d⟩ from d itself."""
        slope: Vector = self.rows @ (lam @ self.rows)
        return slope

    def measure(self, lam: Vector) -> tuple[Vector, float]:
        """Return ⟨g_i, d⟩ and ‖d‖² from d itself."""
        direction = lam @ self.rows
        return self.rows @ direction, float(direction @ direction)

    def rounding(self, lam: Vector) -> Vector:
        """Bound the rounding of a sum of m terms, and then of d."""
        sizes = np.abs(self.rows)
        bound: Vector = (sum(self.bordered.shape) + 2) * EPS * (sizes @ (lam @ sizes))
        return bound

    def system(self, index: Indices, lam: Vector) -> System:
        """Take the smaller of the two systems."""
        units, root = self._units(index)
        direction = lam @ self.rows
        if len(index) > self.bordered.shape[1]:
            return ThinSystem.of(units, direction, root)
        return DenseSystem.of(units @ units.T, self.rows[index] @ direction, root)

    def range_of(self, face: Indices) -> Matrix | None:
        """Take the range of the vectors, or of their products where those are fewer."""
        units, root = self._units(face)
        if len(face) > self.bordered.shape[1]:
            return range_of_columns(np.column_stack((units, root.min() / root)))
        return range_of_square(units @ units.T, root)

    def _units(self, index: Indices) -> tuple[Matrix, Vector]:
        """Return the indexed vectors in natural units, and their norms."""
        root = self.root[index]
        return self.rows[index] / root[:, None], root
