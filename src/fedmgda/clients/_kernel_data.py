"""The examples of all clients as the compiled kernels read them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda.kernels import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector
    from fedmgda.data import FederatedData, Pixels

__all__ = ["KernelArrays", "KernelData", "fits_kernels"]

_NEAR_BYTES = 2**26

KernelArrays: TypeAlias = "tuple[NDArray[Any], ...]"
"""Features, what a byte of them stands for, classes, and values: what every kernel takes."""


def fits_kernels(data: FederatedData, outputs: int) -> bool:
    """Whether the kernels may read the data: they look at nothing twice, so it is done here.

    What does not fit goes to torch, which says what is wrong with it.
    """
    images = data.features.dtype == np.uint8 and data.pixels is not None
    numbers = data.features.dtype == np.float32 and data.pixels is None
    if not (images or numbers) or not data.features.flags.c_contiguous:
        return False
    if len(data.targets) != len(data.features) or data.targets.ndim != 1:
        return False
    if data.targets.dtype.kind not in "biu":
        return outputs == 1
    return bool(len(data.targets) and data.targets.min() >= 0 and data.targets.max() < outputs)


@final
class KernelData:
    """Arrays that no kernel writes to; any number of threads may share them.

    Attributes:
        arrays: What every kernel takes.
        classifies: Whether the targets are classes.
    """

    def __init__(self, data: FederatedData, planes: int) -> None:
        features = np.asarray(data.features).reshape(len(data.features), -1)
        targets = np.asarray(data.targets)
        self.classifies = targets.dtype.kind in "biu"
        classes = targets.astype(np.int64, copy=False) if self.classifies else np.empty(0, np.int64)
        values = (
            np.empty(0, np.float32) if self.classifies else targets.astype(np.float32, copy=False)
        )
        table = _table(data.pixels, planes)
        self.arrays: KernelArrays = tuple(map(_constant, (features, table, classes, values)))
        self._own = threading.local()
        prepare(self.arrays)

    def checked(self, rows: Indices) -> Indices:
        """Return the rows as the kernels want them; raise IndexError if one does not exist."""
        n = len(self.arrays[0])
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise IndexError(f"rows must lie in 0..{n - 1}, got {rows.min()} to {rows.max()}")
        return np.ascontiguousarray(rows, np.int64)

    def for_epochs(self, epochs: NDArray[Any]) -> tuple[KernelArrays, NDArray[Any]]:
        """Return the arrays and the rows of each epoch, in the order of their use if they are few.

        To read scattered examples one by one would wait for each of them. Every thread has memory
        of its own for the copy, since to ask for new memory takes longer than to fill it.
        """
        features, table, classes, values = self.arrays
        if epochs.size * features.shape[1] * features.itemsize > _NEAR_BYTES:
            return self.arrays, epochs
        rows = epochs.reshape(-1)
        if len(getattr(self._own, "features", ())) < len(rows):
            self._own.features = np.empty((len(rows), features.shape[1]), features.dtype)
        # Rows are in range, and with "clip" NumPy writes to the place itself.
        near = np.take(features, rows, axis=0, out=self._own.features[: len(rows)], mode="clip")
        classes, values = (
            np.take(array, rows) if array.size else array for array in (classes, values)
        )
        arrays = tuple(map(_constant, (near, table, classes, values)))
        return arrays, np.arange(len(rows)).reshape(epochs.shape)


def _table(pixels: Pixels | None, planes: int) -> Vector:
    """Return what each byte stands for, by the operations that scale whole images."""
    if pixels is None:
        return np.zeros((planes, 0), np.float32)
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    levels = (levels - np.float32(pixels.mean)) / np.float32(pixels.std)
    return np.tile(levels, (planes, 1))


def _constant(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written: one type, and so one compilation, for all data."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
