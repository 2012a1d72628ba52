"""Compiled kernels kept on disk: loaded if they are what was written, and done without if not.

numba reads its cache with pickle, so what it reads must be what a process of ours wrote: a sha256
stands behind every file, and one that does not fit is compiled anew and replaced. A place that
cannot be read or written costs the time to compile, never the run.
"""

from __future__ import annotations

import hashlib
import io
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
    ZipCacheLocator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["is_kept", "keep_on_disk"]

_SEAL = hashlib.sha256().digest_size


def keep_on_disk(compiled: Any, function: Callable[..., Any]) -> None:
    """Let a compiled function be kept on disk, if there is a place for it."""
    with suppress(RuntimeError, OSError):  # numba's "no locator available"
        compiled._cache = _KeptKernel(function)  # noqa: SLF001 (what `njit(cache=True)` does)


def is_kept(compiled: Any) -> bool:
    """Return whether what was compiled is on disk for the next process."""
    cache = compiled._cache  # noqa: SLF001
    return isinstance(cache, _KeptKernel) and not cache.refused


@final
class _HomeLocator(UserWideCacheLocator):  # type: ignore[misc]  # numba has no types
    """The user's cache folder; without a home, numba would make a folder called ~ where it runs."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return the place, or None."""
        try:
            Path.home()
        except RuntimeError:
            return None
        return super().from_function(py_func, py_file)


@final
class _Places(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (
        UserProvidedCacheLocator,
        InTreeCacheLocator,
        _HomeLocator,
        ZipCacheLocator,
    )


@final
class _SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """numba's files with a digest behind what pickle reads, which reads no further than its end."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        buffer = io.BytesIO()
        yield buffer
        content = buffer.getvalue()
        with super()._open_for_write(filepath) as file:
            file.write(content + hashlib.sha256(content).digest())

    def _load_index(self) -> Any:
        return super()._load_index() if _is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not _is_whole(self._data_path(name)):
            raise FileNotFoundError(name)  # as numba knows it: the function is compiled
        return super()._load_data(name)


@final
class _KeptKernel(FunctionCache):  # type: ignore[misc]
    _impl_class = _Places

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _SealedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )
        self.refused = False

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, unless the disk refuses."""
        try:
            super().save_overload(sig, data)
        except OSError:
            self.refused = True


def _is_whole(path: str) -> bool:
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_SEAL]).digest() == content[-_SEAL:]
