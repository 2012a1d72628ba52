"""`python -m fedmgda.flower.worker SOCKET`: the resident worker of one node."""

from __future__ import annotations

import signal
import socket
import sys
from importlib import import_module
from pathlib import Path

from fedmgda.flower._worker import keep, leave_with_parent, serve

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Keep a worker behind a socket, or be that worker.

    Args:
        arguments: The path of the socket; or `--descriptor` and its number, as the keeper says it.
    """
    # Ctrl-C reaches every process of the terminal; what it means is for the first one to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments[0] != "--descriptor":
        command = [sys.executable, "-m", "fedmgda.flower.worker", "--descriptor"]
        keep(Path(arguments[0]), command)
        return
    leave_with_parent()
    node = import_module("fedmgda.flower._node")  # here, because the keeper needs no torch
    serve(socket.socket(fileno=int(arguments[1])), node.answer_bytes)


if __name__ == "__main__":
    main(sys.argv[1:])
