"""Updates in a file: m x d numbers need not fit in memory."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from fedmgda.minnorm import Products, inner_products, row_norms, weighted_sum
from fedmgda.values._updates import fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Matrix, Vector

__all__ = ["FileUpdates"]

_PANEL_BYTES = 1 << 26  # of columns read at once, of all rows: long reads, little memory


@final
class FileUpdates:
    """Updates that lie in a file one behind the other, read in blocks of columns.

    The arithmetic is that of `DenseUpdates`, block for block, and so is every bit of the results.

    Attributes:
        path: The file: m rows of d numbers in the machine's byte order.

    >>> import tempfile, pathlib
    >>> rows = np.array([[3.0, 4.0], [0.0, 2.0]], np.float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     updates = FileUpdates.write(pathlib.Path(folder) / "updates", rows, 2)
    ...     updates.gramian().tolist()
    [[25.0, 8.0], [8.0, 4.0]]
    """

    def __init__(
        self, path: Path, num_columns: int, dtype: Any = np.float32, kept: Indices | None = None
    ) -> None:
        """Look at a file of rows.

        Args:
            path: The file.
            num_columns: d.
            dtype: Of its numbers, float32 or float64.
            kept: The rows that count, in order; all if None.

        Raises:
            ValueError: If the file does not hold whole rows.
        """
        self.path, self.num_columns, self.dtype = path, num_columns, np.dtype(dtype)
        size, width = path.stat().st_size, num_columns * self.dtype.itemsize
        if self.dtype not in (np.float32, np.float64) or num_columns < 1 or size % width:
            raise ValueError(
                f"{path} must hold rows of {num_columns} numbers of type float32 or float64, got "
                f"{size} bytes read as {self.dtype}."
            )
        self._kept = np.arange(size // width) if kept is None else kept
        self.num_rows = len(self._kept)
        self._products: Products | None = None
        self._norms: Vector | None = None

    @classmethod
    def write(cls, path: Path, rows: Iterable[Vector], num_columns: int) -> Self:
        """Write rows one by one, as they arrive, and return them as updates."""
        dtype: np.dtype[Any] | None = None
        with path.open("xb") as file:
            for row in rows:
                dtype = dtype or row.dtype
                if row.shape != (num_columns,) or row.dtype != dtype:
                    raise ValueError(
                        f"A row must be {dtype} of shape ({num_columns},), got {row.dtype} of "
                        f"shape {row.shape}."
                    )
                file.write(np.ascontiguousarray(row).data)
        return cls(path, num_columns, dtype or np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        with self._open() as rows:
            return np.array(rows[:, : self.num_columns], dtype=dtype, copy=copy)

    def norms(self) -> Vector:
        """Return ‖g_i‖, of shape `(m,)`."""
        if self._norms is None:
            with self._open() as rows:
                self._norms = row_norms(rows)
            self._norms.flags.writeable = False
        return self._norms

    def gramian(self) -> Matrix:
        """Return K with K_ij = ⟨g_i, g_j⟩."""
        return self._multiplied().gramian()

    def normalized_gramian(self) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of g_i / ‖g_i‖, and the lengths they were divided by."""
        return self._multiplied().normalized()

    def combine(self, weights: Vector) -> Vector:
        """Return Σ w_i g_i."""
        with self._open() as rows:
            return weighted_sum(rows, weights)

    def inner(self, direction: Vector) -> Vector:
        """Return ⟨g_i, d⟩."""
        with self._open() as rows:
            return inner_products(rows, direction)

    def select(self, rows: NDArray[Any]) -> FileUpdates:
        """Return the updates of the given rows; none is copied."""
        return FileUpdates(self.path, self.num_columns, self.dtype, self._kept[rows])

    def faults(self) -> list[str | None]:
        """Return for each row why no rule may use it."""
        with self._open() as rows:
            return [fault(rows[row]) for row in range(self.num_rows)]

    def _multiplied(self) -> Products:
        if self._products is None:
            with self._open() as rows:
                self._products = Products.of(rows)
        return self._products

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with self.path.open("rb") as file:
            yield _Rows(file.fileno(), self._kept, self.num_columns, self.dtype)


@final
class _Rows:
    """An open file seen as a matrix of which one row, or some columns, can be read."""

    def __init__(self, fd: int, kept: Indices, num_columns: int, dtype: np.dtype[Any]) -> None:
        self._fd, self._kept = fd, kept
        self.shape, self.ndim, self.dtype = (len(kept), num_columns), 2, dtype
        self._panel, self._start = np.empty((len(kept), 0), dtype), 0

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, key: int | tuple[slice, slice]) -> Matrix:
        if not isinstance(key, tuple):
            return self._read(int(self._kept[key]), 0, self.shape[1])
        start, stop, _ = key[1].indices(self.shape[1])
        if not self._start <= start <= stop <= self._start + self._panel.shape[1]:
            self._load(start, stop)
        return self._panel[:, start - self._start : stop - self._start]

    def _load(self, start: int, stop: int) -> None:
        room = _PANEL_BYTES // (self.dtype.itemsize * max(len(self), 1))
        stop = min(max(stop, start + room), self.shape[1])
        if self._panel.shape[1] != stop - start:
            self._panel = np.empty((len(self), stop - start), self.dtype)
        self._start = start
        for row, kept in enumerate(self._kept):
            self._panel[row] = self._read(int(kept), start, stop)

    def _read(self, row: int, start: int, stop: int) -> Vector:
        size = self.dtype.itemsize
        content = os.pread(self._fd, (stop - start) * size, (row * self.shape[1] + start) * size)
        if len(content) != (stop - start) * size:
            raise ValueError("The file of updates became shorter while it was read.")
        return np.frombuffer(content, self.dtype)
