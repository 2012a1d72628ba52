"""The one way to write the files of a run folder, and the one way to read them.

A write is whole or did not happen, follows no link, and becomes a sentence where the disk refuses
it. A read takes regular files only and no more bytes than it was told to expect: a link, a pipe or
a device in the place of a file is refused before a byte of it is read.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, final

from fedmgda._errors import LockedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "AppendedFile",
    "RefusedWriteError",
    "file_digest",
    "is_locked",
    "is_there",
    "make_folder",
    "names_in",
    "read_file",
    "read_lines",
    "read_part",
    "remove_file",
    "remove_temporary_files",
    "start_digest",
    "take_lock",
    "truncate_file",
    "write_file",
]

# Without O_NONBLOCK, opening a pipe would wait for somebody at its other end.
_GUARDED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
_TRIES, _PAUSE = 10, 0.02  # for a lock that a reader holds for the moment in which it looks at it


class RefusedWriteError(StoreError):
    """The system refused a write: the disk is full, the folder read-only, the path impossible."""


def make_folder(path: Path) -> None:
    """Make a folder, and those it lies in, unless it is there."""
    with _refusals(path, "written"):
        os.makedirs(path, exist_ok=True)  # noqa: PTH103


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that after a crash either the old or the new content is there, whole.

    What stands there before, be it a link, is replaced and never written to. What earlier writes of
    this file left that were cut short is removed.

    Raises:
        StoreError: If the disk refuses; the old content is still there.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    with _refusals(path, "written"), _cleared(path) as folder:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _GUARDED, 0o666)
        try:
            try:
                _write_all(descriptor, content)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, path)  # noqa: PTH105 (every call of this file goes through os)
        except OSError:
            with suppress(OSError):  # room for others, on a disk that is full
                os.unlink(temporary)  # noqa: PTH108
            raise
        os.fsync(folder)


def read_file(path: Path, limit: int) -> bytes | None:
    """Return the content of a regular file of at most `limit` bytes; None if nothing is there.

    Raises:
        StoreError: If it is anything else, larger, or cannot be read.
    """
    with _refusals(path, "read"), _opened(path, os.O_RDONLY) as descriptor:
        if descriptor is None:
            return None
        size = os.fstat(descriptor).st_size
        content = b"".join(_chunks(descriptor, limit + 1)) if size <= limit else b""
        if max(size, len(content)) > limit:
            raise StoreError(
                f"{path} cannot be read: it has {max(size, len(content))} bytes, more than the "
                f"{limit} such a file may have."
            )
        return content


def read_lines(path: Path, longest: int) -> Iterator[bytes]:
    """Yield the lines of a regular file without their ends; a torn last line is left out.

    Args:
        path: The file; one that is not there has no lines.
        longest: The most bytes a line may have, so that memory is bounded by what is in use.

    Raises:
        StoreError: If it is no regular file, cannot be read, or has a longer line.
    """
    with _refusals(path, "read"), _opened(path, os.O_RDONLY) as descriptor:
        begun = list[bytes]()  # the pieces of a line whose end has not been read yet
        for chunk in () if descriptor is None else _chunks(descriptor):
            first, *lines = chunk.split(b"\n")
            begun.append(first)
            if lines:
                yield b"".join(begun)
                yield from lines[:-1]
                begun = lines[-1:]
            if sum(map(len, begun)) > longest:
                raise StoreError(f"{path} cannot be read: a line has more than {longest} bytes.")


def read_part(path: Path, offset: int, size: int) -> bytes:
    """Return `size` bytes of a regular file from `offset` on, or as many as it has.

    Raises:
        StoreError: If it is no regular file, or cannot be read.
    """
    with _refusals(path, "read"), _opened(path, os.O_RDONLY) as descriptor:
        if descriptor is None:
            return b""
        end = min(offset + size, os.fstat(descriptor).st_size)
        return os.pread(descriptor, max(end - offset, 0), offset)


def file_digest(path: Path, limit: int | None = None) -> tuple[str, int] | None:
    """Return the sha256 of a regular file, in hexadecimal digits, and its size; None without it.

    Args:
        path: The file.
        limit: Of a file that is larger than this nothing is read, and the digest is empty.

    Raises:
        StoreError: If it is no regular file, or cannot be read.
    """
    with _refusals(path, "read"), _opened(path, os.O_RDONLY) as descriptor:
        if descriptor is None:
            return None
        digest, size = hashlib.sha256(), 0
        if limit is not None and (found := os.fstat(descriptor).st_size) > limit:
            return "", found
        for chunk in _chunks(descriptor):
            digest.update(chunk)
            size += len(chunk)
        return digest.hexdigest(), size


def start_digest(path: Path, size: int) -> hashlib._Hash:
    """Return the sha256 of the first `size` bytes of a regular file, to be gone on with.

    Raises:
        StoreError: If it is no regular file, or cannot be read.
    """
    digest = hashlib.sha256()
    with _refusals(path, "read"), _opened(path, os.O_RDONLY) as descriptor:
        for chunk in () if descriptor is None else _chunks(descriptor, size):
            digest.update(chunk)
    return digest


def truncate_file(path: Path, size: int) -> None:
    """Cut a file to its first `size` bytes, which needs no room on the disk.

    Raises:
        StoreError: If it is no regular file of its own, or shorter than that.
    """
    with _refusals(path, "written"), _opened(path, os.O_WRONLY) as descriptor:
        found = 0 if descriptor is None else _own_size(descriptor, path)
        if found < size:
            raise StoreError(f"{path} has {found} bytes, fewer than the {size} it began with.")
        if descriptor is not None and found > size:
            os.ftruncate(descriptor, size)


def is_there(path: Path) -> bool:
    """Tell whether something of that name is there, be it a link that leads nowhere."""
    with _refusals(path, "read"):
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if it is not there."""
    with _refusals(folder, "read"), suppress(FileNotFoundError, NotADirectoryError):
        return sorted(os.listdir(folder))  # noqa: PTH208
    return []


def remove_file(path: Path) -> None:
    """Remove a file, if it is there."""
    with _refusals(path, "removed"), suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108


def remove_temporary_files(folder: Path) -> None:
    """Remove what writes that a crash cut short have left in a folder."""
    for name in names_in(folder):
        if re.fullmatch(r"\..+\.tmp", name):
            remove_file(folder / name)


@final
class AppendedFile:
    """A file that only grows, opened when it is first written to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def append(self, content: bytes) -> None:
        """Add bytes at the end and hand them to the system.

        Raises:
            StoreError: If the disk refuses, perhaps after some of the bytes, or if the path is not
                a regular file with this name alone: whatever else bears it would be changed too.
        """
        with _refusals(self._path, "written"):
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _GUARDED
                descriptor = os.open(self._path, flags, 0o666)
                try:
                    _own_size(descriptor, self._path)
                except BaseException:
                    os.close(descriptor)
                    raise
                self._descriptor = descriptor
            _write_all(self._descriptor, content)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if self._descriptor is not None:
            with _refusals(self._path, "written"):
                os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file; what was not synchronised may be lost with the machine."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with suppress(OSError):
                os.close(descriptor)


def take_lock(path: Path) -> ExitStack:
    """Take the lock that a file stands for, and write this process into it.

    Returns:
        A context that gives it back; the system does so if the process dies.

    Raises:
        LockedError: If another process has it.
        StoreError: If the file cannot be written, or is not a lock: nothing in it is changed then.
    """
    with ExitStack() as held, _refusals(path, "written"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _GUARDED, 0o666)
        held.callback(os.close, descriptor)
        _own_size(descriptor, path)
        owner = os.pread(descriptor, 64, 0)
        if not re.fullmatch(rb"[0-9]{0,20}\n?", owner):
            raise StoreError(f"{path} is not a lock of fedmgda; move it away.")
        if not _flock(descriptor, fcntl.LOCK_EX, _TRIES):
            name = owner.decode().strip() or "unknown"
            raise LockedError(
                f"Process {name} is working in {path.parent}; wait for it or stop it first."
            )
        os.ftruncate(descriptor, 0)
        _write_all(descriptor, f"{os.getpid()}\n".encode())
        return held.pop_all()


def is_locked(path: Path) -> bool:
    """Tell whether another process has the lock that a file stands for."""
    try:
        with _opened(path, os.O_RDONLY) as descriptor:
            return descriptor is not None and not _flock(descriptor, fcntl.LOCK_SH, 1)
    except (OSError, StoreError):
        return False  # nobody can hold what cannot be opened


def _flock(descriptor: int, kind: int, tries: int) -> bool:
    for left in reversed(range(tries)):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        else:
            return True
    return False


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int | None]:
    """Open a regular file, of which nothing else is known to be harmless; None without it."""
    try:
        descriptor = os.open(path, flags | _GUARDED)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    try:
        _require_regular(os.fstat(descriptor), path)
        yield descriptor
    finally:
        os.close(descriptor)


def _require_regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file; move it away.")


def _own_size(descriptor: int, path: Path) -> int:
    """Return the size of an open file that may be written to: it has no other name."""
    found = os.fstat(descriptor)
    _require_regular(found, path)
    if found.st_nlink > 1:
        raise StoreError(
            f"{path} has a second name (a hard link), and writing to it would change that file "
            "too; replace it by a copy."
        )
    return found.st_size


def _chunks(descriptor: int, most: int | None = None) -> Iterator[bytes]:
    """Yield what a file holds, or its first `most` bytes, piece by piece."""
    left = most
    while left is None or left > 0:
        chunk = os.read(descriptor, _CHUNK if left is None else min(_CHUNK, left))
        if not chunk:
            return
        yield chunk
        left = None if left is None else left - len(chunk)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _cleared(path: Path) -> Iterator[int]:
    """Open the folder of a file, and remove what writes of the file left that were cut short.

    Whoever writes shares a lock on the folder meanwhile, and where somebody has it nothing is
    removed: it may be what that process is writing.
    """
    left = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{12}}\.tmp")
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks, or a file that may not be removed
            if _flock(folder, fcntl.LOCK_EX, 1):
                for name in filter(left.fullmatch, os.listdir(folder)):  # noqa: PTH208
                    os.unlink(name, dir_fd=folder)
            _flock(folder, fcntl.LOCK_SH, _TRIES)
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _refusals(path: Path, done: str) -> Iterator[None]:
    """Turn what the system refuses into a sentence."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in a path
        number = error.errno if isinstance(error, OSError) else None
        reason = {
            errno.ELOOP: "it is a symbolic link; put the file itself there",
            errno.ENXIO: "it is not a regular file; move it away",
        }.get(number or 0) or getattr(error, "strerror", None)
        kind = StoreError if done == "read" else RefusedWriteError
        raise kind(f"{path} cannot be {done}: {reason or error}.") from error
