"""Arrays that several processes see, one copy for all.

They are anonymous files rather than named segments: the system frees them with their last user,
however that one ends, and the small `/dev/shm` of a container does not bound them.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SharedArray", "Source", "share"]


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


Source: TypeAlias = SharedArray | _MappedFile


def share(array: NDArray[Any]) -> Source:
    """Return something that a child process can be given to see the array, in its `array`."""
    # A slice of a map does not know where in the file it starts, so only a whole map qualifies.
    path, base = getattr(array, "filename", None), cast("object", array.base)
    if path and isinstance(base, mmap.mmap) and array.flags.c_contiguous:
        offset = int(getattr(array, "offset", 0))
        return _MappedFile(str(Path(path).absolute()), array.shape, array.dtype.str, offset)
    return SharedArray.of(array)
