"""`python -m fedmgda.flower.worker SOCKET CONFIG`: the resident worker of one node."""

from __future__ import annotations

import json
import signal
import socket
import sys
from pathlib import Path

from fedmgda.flower._worker import keep, leave_with_parent, serve

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Keep a worker behind a socket, or be that worker.

    Args:
        arguments: The path of the socket, and the node's config in JSON; or that config after
            `--serve` and before the number of the socket's descriptor, as the keeper says it.
    """
    # Ctrl-C reaches every process of the terminal; what it means is for the first one to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments[0] != "--serve":
        path, config = arguments
        keep(Path(path), [sys.executable, "-m", "fedmgda.flower.worker", "--serve", config])
        return
    leave_with_parent()
    from fedmgda.flower._node import Node, Pools  # noqa: PLC0415 (the keeper needs no torch)
    from fedmgda.flower._wire import question_from_bytes, to_bytes  # noqa: PLC0415

    node = Node.of_config(json.loads(arguments[1]), Pools())
    listener = socket.socket(fileno=int(arguments[2]))
    serve(listener, lambda question: to_bytes(node.answer(question_from_bytes(question))))


if __name__ == "__main__":
    main(sys.argv[1:])
