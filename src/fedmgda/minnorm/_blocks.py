"""Float64 arithmetic on tall float32 data without a float64 copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Matrix

__all__ = ["block_width", "float64_blocks"]

BLOCK_BYTES = 1 << 22  # of one block in float64: it is read again from cache, not from memory
NARROWEST = 256  # columns: fewer would make the calls cost more than the arithmetic


def block_width(num_rows: int) -> int:
    """Return how many columns of so many rows make a block."""
    return max(BLOCK_BYTES // (8 * max(num_rows, 1)), NARROWEST)


def float64_blocks(updates: Matrix, widest: int | None = None) -> Iterator[tuple[slice, Matrix]]:
    """Yield the columns block by block, as a slice and as float64 values.

    Args:
        updates: Of shape `(m, d)`: a matrix, or what can be read like one by its columns.
        widest: The most columns a block may have; as many as fit the cache if None.

    Yields:
        The slice and its values, of shape `(m, width)`: to be read only, and only until the next
        block, which takes their place.

    >>> rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> [(columns.stop, block.sum()) for columns, block in float64_blocks(rows, widest=2)]
    [(2, np.float64(8.0)), (3, np.float64(7.0))]
    """
    num_rows, num_columns = updates.shape
    width = min(block_width(num_rows), num_columns, widest or num_columns)
    convert = updates.dtype != np.float64
    buffer = np.empty((num_rows, width if convert else 0))
    for start in range(0, num_columns, max(width, 1)):
        columns = slice(start, min(start + width, num_columns))
        block = updates[:, columns]
        if convert:
            values = buffer[:, : block.shape[1]]
            np.copyto(values, block)
            block = values
        yield columns, block
