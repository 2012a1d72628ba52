"""Ports of this machine's loopback, which is all that is listened on."""

from __future__ import annotations

import socket
from typing import Final

__all__ = ["HOST", "free_ports", "is_open"]

HOST: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody listens on at this moment, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for line in sockets:
            line.bind((HOST, 0))
        return [line.getsockname()[1] for line in sockets]
    finally:
        for line in sockets:
            line.close()


def is_open(port: int) -> bool:
    """Tell whether somebody listens on a port of the loopback."""
    with socket.socket() as line:
        line.settimeout(1.0)
        return line.connect_ex((HOST, port)) == 0
