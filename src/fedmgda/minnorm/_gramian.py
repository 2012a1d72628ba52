"""Gram matrices of tall float32 data, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector

__all__ = ["gramian", "normalized_gramian"]

BLOCK_BYTES = 1 << 21  # of one block in float64: it stays in cache
LONGEST_SUM = 4096  # columns summed in float32 before float64 takes over
EXACT_PRODUCTS = 2e9  # m * m * d up to which products are formed in float64
SAFE = (
    2.0**-80,
    2.0**80,
)  # squared row norms for which float32 products neither over- nor underflow


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
    products, exponents = _scaled_products(_as_floating(updates))
    with np.errstate(over="ignore"):
        matrix: Matrix = np.ldexp(products, exponents + exponents[:, None])
    if not np.isfinite(matrix).all():
        row = int(np.argmax(exponents))
        raise ValueError(
            f"updates must be finite with squares in the range of float64, row {row} is not: "
            "drop it, or use normalized_gramian if it is finite."
        )
    return matrix


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
    updates = _as_floating(updates)
    products, exponents = _scaled_products(updates)
    root = np.sqrt(np.diagonal(products))
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    matrix = np.clip(products * np.outer(inverse, inverse), -1.0, 1.0)
    np.fill_diagonal(matrix, (root > 0).astype(np.float64))
    return matrix, np.ldexp(_norms(updates, exponents, root), exponents)


def _as_floating(updates: Matrix) -> Matrix:
    updates = np.asarray(updates)
    if updates.ndim != 2:
        raise ValueError(f"updates must have shape (m, d), got {updates.shape}.")
    return updates if updates.dtype in (np.float32, np.float64) else updates.astype(np.float64)


def _scaled_products(updates: Matrix) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the Gram matrix of the rows divided by 2^exponents, and the exponents."""
    exponents = np.zeros(len(updates), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        products = _products(updates, exponents)
        squares = np.diagonal(products)
        risky = np.flatnonzero(~((squares >= SAFE[0]) & (squares <= SAFE[1])))
        for row in risky:  # a plain loop: one row at a time needs no second matrix
            exponents[row] = np.frexp(np.abs(updates[row]).max(initial=0.0))[1]
        if exponents.any():
            products = _products(updates, exponents)
    return products, exponents


def _products(updates: Matrix, exponents: NDArray[np.int64]) -> Matrix:
    num_rows, num_columns = updates.shape
    exact = updates.dtype == np.float64 or num_rows**2 * num_columns <= EXACT_PRODUCTS
    total = np.zeros((num_rows, num_rows))
    for block in _blocks(updates):
        part = block.astype(np.float64) if exact else block
        if exponents.any():
            part = np.ldexp(part, -exponents[:, None])
        total += part @ part.T
    return 0.5 * (total + total.T)


def _blocks(updates: Matrix) -> Iterator[Matrix]:
    width = min(max(BLOCK_BYTES // (8 * max(len(updates), 1)), 256), LONGEST_SUM)
    for start in range(0, updates.shape[1], width):
        yield updates[:, start : start + width]


def _norms(updates: Matrix, exponents: NDArray[np.int64], root: Vector) -> Vector:
    """Return the norms of the scaled rows with float64 products, whatever K was made with."""
    if updates.dtype == np.float64 or len(updates) ** 2 * updates.shape[1] <= EXACT_PRODUCTS:
        return root
    squares = np.zeros(len(updates))
    for block in _blocks(updates):
        part = block.astype(np.float64)
        part = np.ldexp(part, -exponents[:, None]) if exponents.any() else part
        squares += np.vecdot(part, part)
    return np.sqrt(squares)
