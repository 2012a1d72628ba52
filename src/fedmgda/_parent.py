"""Processes that do not outlive the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import threading

__all__ = ["leave_with_parent"]


def leave_with_parent() -> None:
    """Let this process end when the one that started it has ended, even amid its work."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
