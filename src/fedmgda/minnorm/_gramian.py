"""Gram matrices of tall float32 data, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

import numpy as np

from fedmgda.minnorm._blocks import float64_blocks
from fedmgda.minnorm._real import as_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector

__all__ = ["Products", "gramian", "normalized_gramian"]

LONGEST_SUM = 4096  # columns summed in float32 before float64 takes over
EXACT_PRODUCTS = 2e9  # m * m * d up to which products are formed in float64
SAFE = (
    2.0**-80,
    2.0**80,
)  # squared row norms for which float32 products neither over- nor underflow


@final
@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The inner products of rows over powers of two, from which both Gram matrices follow.

    Attributes:
        products: Of shape `(m, m)`: ⟨g_i, g_j⟩ / 2^(e_i + e_j).
        norms: Of shape `(m,)`: ‖g_i‖ / 2^e_i.
        exponents: Of shape `(m,)`: e_i, not zero only where a square could over- or underflow.
    """

    products: Matrix
    norms: Vector
    exponents: NDArray[np.int64]

    @classmethod
    def of(cls, updates: Matrix) -> Self:
        """Multiply the rows of a matrix, or of what can be read like one, with each other."""
        exponents = np.zeros(len(updates), dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            products, squares = _products(updates, exponents)
            safe = np.diagonal(products)
            risky = np.flatnonzero(~((safe >= SAFE[0]) & (safe <= SAFE[1])))
            for row in risky:  # a plain loop: one row at a time needs no second matrix
                exponents[row] = np.frexp(np.abs(updates[row]).max(initial=0.0))[1]
            if exponents.any():
                products, squares = _products(updates, exponents)
        return cls(products, np.sqrt(squares), exponents)

    def gramian(self) -> Matrix:
        """Return K; see `gramian`."""
        with np.errstate(over="ignore"):
            matrix: Matrix = np.ldexp(self.products, self.exponents + self.exponents[:, None])
        if not np.isfinite(matrix).all():
            row = int(np.argmin(np.isfinite(matrix).sum(axis=1)))
            raise ValueError(
                f"updates must be finite with squares in the range of float64, row {row} is not: "
                "drop it, or use normalized_gramian if it is finite."
            )
        return matrix

    def normalized(self) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of the unit rows, and their norms; see `normalized_gramian`."""
        root = np.sqrt(np.diagonal(self.products))
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        with np.errstate(invalid="ignore"):  # a row that is not finite has a norm that says so
            matrix = np.clip(self.products * np.outer(inverse, inverse), -1.0, 1.0)
        np.fill_diagonal(matrix, (root > 0).astype(np.float64))
        return matrix, np.ldexp(self.norms, self.exponents)


def gramian(updates: Matrix) -> Matrix:
    """Return K with K_ij = ⟨g_i, g_j⟩ for the rows g_i, exactly symmetric.

    No float64 copy of the matrix is made. Products are in float64, or in float32 with float64 sums
    over blocks where m * m * d is large; rows too large or too small for that are first divided
    by a power of two, which is exact.

    Args:
        updates: Of shape `(m, d)`, float32 or float64, finite.

    Returns:
        Of shape `(m, m)`, float64.

    Raises:
        ValueError: If float64 rows are so long that ⟨g_i, g_i⟩ is not a float64 number.

    >>> gramian(np.array([[1.0, 2.0], [4.0, 3.0]], dtype=np.float32)).tolist()
    [[5.0, 10.0], [10.0, 25.0]]
    """
    return Products.of(_as_floating(updates)).gramian()


def normalized_gramian(updates: Matrix) -> tuple[Matrix, Vector]:
    """Return the Gram matrix of the normalised rows, and the norms ‖g_i‖ of the rows.

    The diagonal is exactly 1; a zero row has norm 0 and gives a row and a column of zeros. The
    normalised rows themselves are never formed.

    Args:
        updates: Of shape `(m, d)`, float32 or float64, finite.

    Returns:
        The matrix of shape `(m, m)` and the norms of shape `(m,)`, both float64.

    >>> matrix, norms = normalized_gramian(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]]))
    >>> matrix.tolist(), norms.tolist()
    ([[1.0, 0.0, 0.8], [0.0, 0.0, 0.0], [0.8, 0.0, 1.0]], [5.0, 0.0, 2.0])
    """
    return Products.of(_as_floating(updates)).normalized()


def _as_floating(updates: Matrix) -> Matrix:
    updates = as_real(updates, "updates", single=True)
    if updates.ndim != 2:
        raise ValueError(f"updates must have shape (m, d), got {updates.shape}.")
    return updates


def _products(updates: Matrix, exponents: NDArray[np.int64]) -> tuple[Matrix, Vector]:
    """Return the Gram matrix, and the squared norms with float64 products, in one pass."""
    num_rows, num_columns = updates.shape
    exact = updates.dtype == np.float64 or num_rows**2 * num_columns <= EXACT_PRODUCTS
    total, squares = np.zeros((num_rows, num_rows)), np.zeros(num_rows)
    for columns, block in float64_blocks(updates, None if exact else LONGEST_SUM):
        values, factors = block, block if exact else updates[:, columns]
        if exponents.any():
            values = np.ldexp(block, -exponents[:, None])
            factors = values.astype(factors.dtype)
        total += factors @ factors.T
        if not exact:
            squares += np.vecdot(values, values)
    products = 0.5 * (total + total.T)
    return products, np.diagonal(products) if exact else squares
