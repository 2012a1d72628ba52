"""Norms, weighted sums and inner products of tall data, in float64 without a float64 copy of it.

`rows` is a matrix of shape `(m, d)`, or anything else of which columns and single rows can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._blocks import block_width, float64_blocks

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = ["euclidean_norm", "inner_products", "row_norms", "weighted_sum"]


def row_norms(rows: Matrix) -> Vector:
    """Return ‖g_i‖ in float64, of shape `(m,)`, also where ‖g_i‖² is beyond float64."""
    squares = np.zeros(len(rows))
    with np.errstate(over="ignore"):
        for _, block in float64_blocks(rows):
            squares += np.vecdot(block, block)
        norms = np.sqrt(squares)
        for row in np.flatnonzero(np.isinf(norms)):
            shrunk, exponent = _shrunk(rows[row])
            norms[row] = np.ldexp(np.linalg.norm(shrunk), exponent)
    return norms


def weighted_sum(rows: Matrix, weights: Vector) -> Vector:
    """Return Σ w_i g_i, of shape `(d,)`, in the dtype of the rows."""
    total = np.empty(rows.shape[1], dtype=rows.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for columns, block in float64_blocks(rows):
            total[columns] = weights @ block
    return total


def inner_products(rows: Matrix, direction: Vector) -> Vector:
    """Return ⟨g_i, d⟩ in float64, of shape `(m,)`; infinite, of its sign, where beyond float64."""
    if direction.shape != (rows.shape[1],):
        raise ValueError(f"direction must have shape ({rows.shape[1]},), got {direction.shape}.")
    inner = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for columns, block in float64_blocks(rows):
            inner += block @ direction[columns].astype(np.float64)
        for row in np.flatnonzero(~np.isfinite(inner)):  # a term overflowed, the sum may not
            (update, up), (whole, down) = _shrunk(rows[row]), _shrunk(direction)
            inner[row] = np.ldexp(update @ whole, up + down)
    return inner


def euclidean_norm(direction: Vector, num_rows: int = 1) -> float:
    """Return ‖d‖, summed over the blocks of a matrix of so many rows."""
    square = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in float64_blocks(direction[None], block_width(num_rows)):
            square += float(block[0] @ block[0])
    return float(np.sqrt(square) if np.isfinite(square) else row_norms(direction[None])[0])


def _shrunk(vector: Vector) -> tuple[Vector, int]:
    """Return a vector over a power of two such that no entry exceeds 1, and the exponent."""
    exponent = int(np.frexp(np.abs(vector).max(initial=0.0))[1])
    return np.ldexp(vector.astype(np.float64), -exponent), exponent
