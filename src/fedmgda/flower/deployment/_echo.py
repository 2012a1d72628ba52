"""What a process prints, shown as it comes and remembered for a sentence about its end."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import final

from fedmgda._text import without_colours

__all__ = ["Echo"]

_REMEMBERED = 1 << 14  # bytes
_STANDARD_ERROR = 2
_LAST = 2.0  # seconds for what was printed last


@final
class Echo:
    """A pipe whose other end is standard error.

    Attributes:
        writer: The descriptor that a process prints to.
    """

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        self._last = b""
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def said(self) -> str:
        """Return the last of what was printed."""
        return without_colours(self._last.decode(errors="replace"))

    def close(self) -> None:
        """Show what is left, once nobody prints any more."""
        os.close(self.writer)
        self._thread.join(_LAST)

    def _copy(self) -> None:
        while content := os.read(self._reader, 1 << 16):
            self._last = (self._last + content)[-_REMEMBERED:]
            with suppress(OSError):  # nobody looks: the node goes on all the same
                os.write(_STANDARD_ERROR, content)
        os.close(self._reader)
