"""Standard output and error as a command needs them: there, in any encoding, whoever listens."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO, final

__all__ = ["prepare_streams", "silence_output"]


@final
class _Output(io.FileIO):
    """A descriptor whose reader may leave, as `head` does: the command goes on to its end."""

    def write(self, content: Any, /) -> int:
        """Write, or let go what nobody reads; a disk that is full is still an error."""
        try:
            return super().write(content)
        except BrokenPipeError:
            return len(memoryview(content))


@final
class _Errors(io.FileIO):
    """A descriptor for what is said about errors: where that fails, there is nobody to tell."""

    def write(self, content: Any, /) -> int:
        """Write if that is possible."""
        try:
            return super().write(content)
        except OSError:
            return len(memoryview(content))


def prepare_streams() -> None:
    """Make the standard streams such that printing a name never ends a command.

    What an encoding cannot show is escaped. A stream that was closed by the caller leads nowhere,
    and its number is taken, so that no file of a run ever gets it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    sys.stdout = _prepared(sys.stdout, _Output, 1)
    sys.stderr = _prepared(sys.stderr, _Errors, 2)


def silence_output() -> None:
    """Lead standard output nowhere, after it refused: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _prepared(stream: TextIO | None, kind: type[io.FileIO], number: int) -> TextIO:
    """Return a text stream over a descriptor, unless somebody put something else in its place."""
    if stream is None:
        return _text(kind(number, "w", closefd=False), "utf-8", by_line=False)
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(_raw(stream), io.FileIO):
        return stream
    stream.flush()
    raw = kind(stream.fileno(), "w", closefd=False)
    return _text(raw, stream.encoding, by_line=stream.line_buffering or stream.write_through)


def _raw(stream: io.TextIOWrapper) -> object:
    return getattr(stream.buffer, "raw", stream.buffer)  # the latter where Python runs with -u


def _text(raw: io.FileIO, encoding: str, *, by_line: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=by_line
    )
