"""A disk that refuses one call of a command, or a machine that stops there, seen from Python.

Counted is every call that changes the disk below a folder: to open a file for writing, to write, to
wait for the disk, to make, name, link, cut and remove. What C libraries write past Python is left
to disks that are really full.
"""

# ruff: noqa: PTH100, PTH115, PTH118
from __future__ import annotations

import builtins
import io
import os
import signal
from functools import partial

_BY_PATH = ("mkdir", "rename", "replace", "link", "symlink", "unlink", "remove", "rmdir")
_BY_DESCRIPTOR = ("fsync", "fdatasync", "ftruncate", "sendfile")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class FaultyDisk:
    """What happens at the call of a number: an error of the disk, or the end of the process.

    Attributes:
        calls: How many there were.
    """

    def __init__(self, below, at=None, fault=None, *, for_good=False):
        """Watch a folder.

        Args:
            below: The folder.
            at: The number of the call, 1 for the first; None counts alone.
            fault: The number of an error (`errno.EIO`); None is kill -9.
            for_good: Whether every later call is refused too.
        """
        self.calls, self._below = 0, os.path.realpath(below) + os.sep
        self._at, self._fault, self._for_good = at, fault, for_good
        self._os = {name: getattr(os, name) for name in ("open", "write")}
        self._open = builtins.open

    def install(self):
        """Stand between this process and its disk, until it ends."""
        for name in _BY_PATH:
            setattr(os, name, partial(self._by_path, getattr(os, name)))
        for name in _BY_DESCRIPTOR:
            setattr(os, name, partial(self._by_descriptor, getattr(os, name)))
        os.open, os.write = self._os_open, self._os_write
        io.open = builtins.open = self._file

    def count(self, write=None, content=b""):
        """Count a call; where it is the one, fail or die, after half of what was to be written."""
        self.calls += 1
        if self._at is None or self.calls < self._at:
            return
        if self.calls == self._at and write is not None:
            write(memoryview(content).cast("B")[: memoryview(content).nbytes // 2])
        if self.calls == self._at or self._for_good:
            if self._fault is None:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(self._fault, os.strerror(self._fault))

    def _by_path(self, function, path, *rest, **options):
        if self._is_ours(path, options.get("dir_fd")):
            self.count()
        return function(path, *rest, **options)

    def _by_descriptor(self, function, descriptor, *rest):
        if self._is_ours(f"/proc/self/fd/{descriptor}"):
            self.count()
        return function(descriptor, *rest)

    def _os_open(self, path, flags, *rest, **options):
        if flags & _WRITING and self._is_ours(path, options.get("dir_fd")):
            self.count()
        return self._os["open"](path, flags, *rest, **options)

    def _os_write(self, descriptor, content):
        write = partial(self._os["write"], descriptor)
        if self._is_ours(f"/proc/self/fd/{descriptor}"):
            self.count(write, content)
        return write(content)

    def _file(self, file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **rest):
        """Do what `open` does, with a watched file at the bottom if it is to be written to."""
        if not set(mode) & set("wax+") or isinstance(file, int) or not self._is_ours(file):
            return self._open(file, mode, buffering, encoding, errors, newline, **rest)
        self.count()
        raw = _WatchedFile(file, mode.replace("b", "").replace("t", ""), **rest)
        raw.disk = self
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    def _is_ours(self, path, folder=None):
        path = os.fsdecode(path)
        if folder is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
        if path.startswith("/proc/self/fd/"):
            path = os.readlink(path)
        return os.path.abspath(path).startswith(self._below)


class _WatchedFile(io.FileIO):
    disk: FaultyDisk

    def write(self, content):
        self.disk.count(super().write, content)
        return super().write(content)
