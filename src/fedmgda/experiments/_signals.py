"""SIGINT and SIGTERM as an exception that may arrive anywhere but inside a write."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["Interrupted", "interruptible", "uninterrupted"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """The user, or the system, asked the run to stop; `exit_code` is 128 plus the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Stopped by {signal.Signals(number).name}.")
        self.exit_code = 128 + number


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the two signals into `Interrupted` while the block runs (main thread only)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        raise Interrupted(number)

    previous = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold the two signals back until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
