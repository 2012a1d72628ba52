"""`python -m fedmgda.flower.worker SOCKET`: the resident worker of one node."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

from fedmgda.flower.node._worker import keep, leave_with_parent, serve

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Keep a worker behind a socket, or be that worker.

    Args:
        arguments: The path of the socket; or `--serve` and its descriptor, as the keeper says it.
    """
    # Ctrl-C reaches every process of the terminal; what it means is for the first one to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments[0] != "--serve":
        keep(Path(arguments[0]), [sys.executable, "-m", "fedmgda.flower.worker", "--serve"])
        return
    leave_with_parent()
    from fedmgda.flower.node._node import answer_bytes  # noqa: PLC0415 (the keeper needs no torch)

    serve(socket.socket(fileno=int(arguments[1])), answer_bytes)


if __name__ == "__main__":
    main(sys.argv[1:])
