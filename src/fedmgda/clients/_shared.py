"""Arrays, and whole federations of them, that several processes see, one copy for all.

They are anonymous files rather than named segments: the system frees them with their last user,
however that one ends, and the small `/dev/shm` of a container does not bound them.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast, final, overload

import numpy as np

from fedmgda.data import FederatedData

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data import Pixels

__all__ = ["SharedArray", "SharedData"]


@final
class SharedArray:
    """An array whose rows can grow, and that a child process receives without a copy.

    Attributes:
        array: The array, zero at first.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str, *, fd: int | None = None) -> None:
        self._fd = _anonymous_file() if fd is None else fd
        # Never earlier: a process that is being started may still need the descriptor.
        weakref.finalize(self, os.close, self._fd)
        self.array: NDArray[Any] = np.empty((0, *shape[1:]), dtype)
        self.reserve(shape[0])

    @classmethod
    def of(cls, array: NDArray[Any]) -> Self:
        """Return a shared copy of an array."""
        shared = cls(array.shape, array.dtype.str)
        np.copyto(shared.array, array)
        return shared

    def reserve(self, num_rows: int) -> NDArray[Any]:
        """Return the first rows, after growing the array if it is too short.

        Arrays returned earlier stay valid and see the same memory.
        """
        if num_rows > len(self.array):
            shape, dtype = (num_rows, *self.array.shape[1:]), self.array.dtype
            size = max(1, dtype.itemsize * int(np.prod(shape)))
            if os.fstat(self._fd).st_size < size:
                os.ftruncate(self._fd, size)
            self.array = np.ndarray(shape, dtype, buffer=mmap.mmap(self._fd, size))
        return self.array[:num_rows]

    def __reduce__(self) -> tuple[Any, ...]:
        # Only a process that is being started can be given a file descriptor.
        from multiprocessing.reduction import DupFd  # noqa: PLC0415 - does not exist on Windows

        return _attach, (DupFd(self._fd), self.array.shape, self.array.dtype.str)


def _attach(handle: Any, shape: tuple[int, ...], dtype: str) -> SharedArray:
    return SharedArray(shape, dtype, fd=handle.detach())


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("fedmgda")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@final
@dataclass(frozen=True, slots=True)
class _MappedFile:
    """An array that lives in a file already: each process opens it for itself."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    offset: int

    @property
    def array(self) -> NDArray[Any]:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)


_Source: TypeAlias = SharedArray | _MappedFile


def _share(array: NDArray[Any]) -> _Source:
    """Return something that a child process can be given to see the array, in its `array`."""
    # A slice of a map does not know where in the file it starts, so only a whole map qualifies.
    path, base = getattr(array, "filename", None), cast("object", array.base)
    if path and isinstance(base, mmap.mmap) and array.flags.c_contiguous:
        offset = int(getattr(array, "offset", 0))
        return _MappedFile(str(Path(path).absolute()), array.shape, array.dtype.str, offset)
    return SharedArray.of(array)


@final
@dataclass(frozen=True, slots=True)
class SharedData:
    """The arrays of federated data in a form that a child process receives without a copy."""

    name: str
    features: _Source
    targets: _Source
    rows: SharedArray
    lengths: tuple[Indices, ...]
    num_classes: int | None
    pixels: Pixels | None

    @classmethod
    def of(cls, data: FederatedData) -> Self:
        """Share the arrays of the data: train, validation and test rows become one array."""
        splits = (data.train, data.validation, data.test)
        pieces = [np.asarray(rows, np.int64) for split in splits for rows in split]
        return cls(
            name=data.name,
            features=_share(data.features),
            targets=_share(data.targets),
            rows=SharedArray.of(np.concatenate(pieces)),
            lengths=tuple(np.array([len(rows) for rows in split], np.int64) for split in splits),
            num_classes=data.num_classes,
            pixels=data.pixels,
        )

    def open(self) -> FederatedData:
        """Return the data as views of the shared arrays."""
        splits = []
        start = 0
        for lengths in self.lengths:
            ends = start + np.cumsum(np.concatenate([[0], lengths]))
            splits.append(_Rows(self.rows.array, ends))
            start = int(ends[-1])
        train, validation, test = splits
        return FederatedData(
            name=self.name,
            features=self.features.array,
            targets=self.targets.array,
            train=train,
            validation=validation,
            test=test,
            num_classes=self.num_classes,
            pixels=self.pixels,
        )


@final
class _Rows(Sequence["Indices"]):
    """For each client its rows, as a view made when it is asked for.

    An array object takes more memory than the rows of a small client, and there may be 100,000.
    """

    def __init__(self, rows: Indices, ends: Indices) -> None:
        self._rows, self._ends = rows, ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, client_id: int) -> Indices: ...

    @overload
    def __getitem__(self, client_id: slice) -> list[Indices]: ...

    def __getitem__(self, client_id: int | slice) -> Indices | list[Indices]:
        if isinstance(client_id, slice):
            return [self[i] for i in range(*client_id.indices(len(self)))]
        if not -len(self) <= client_id < len(self):
            raise IndexError(f"There is no client {client_id} among {len(self)}.")
        client_id %= len(self)
        return self._rows[self._ends[client_id] : self._ends[client_id + 1]]
