"""A node of a federation: Flower's SuperNode, and the worker that answers for it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from fedmgda._errors import FederationStalledError
from fedmgda.experiments import interruptible
from fedmgda.flower.deployment._echo import Echo
from fedmgda.flower.deployment._environment import quiet_environment
from fedmgda.flower.deployment._member import CONNECTED
from fedmgda.flower.deployment._ports import HOST, free_ports
from fedmgda.flower.deployment._processes import Family
from fedmgda.flower.deployment._seat_checks import check_seat
from fedmgda.flower.wire._socket import check_socket_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda.flower.deployment._seat import Seat

__all__ = ["run_node"]

_LOOK = 1.0
_SILENCE = 30.0  # seconds in which a SuperLink that is there has answered
_NOT_TAKEN = ("Exit Code: 305", "[code: 2004]")  # Flower's, for a connection that was refused


def run_node(
    seat: Seat, port: int | None = None, tell: Callable[[str], None] = lambda _: None
) -> int:
    """Be a node until SIGINT or SIGTERM, or until Flower gives up; return its exit code.

    Args:
        seat: Which one.
        port: A port of the loopback for the node's own processes; a free one if None.
        tell: Told from time to time that the SuperLink has not answered: Flower tries for ever.

    Raises:
        SpecError: If a key or a certificate cannot be used; or a DataError for its rows.
        FederationStalledError: If the SuperLink does not take the node.
        Interrupted: After a signal; nothing runs any more.
    """
    check_seat(seat)
    port = port or free_ports(1)[0]
    with interruptible(), tempfile.TemporaryDirectory(prefix="fedmgda-") as folder:
        worker = Path(folder) / "w"
        check_socket_path(worker)
        environment = quiet_environment(Path(folder) / "home")
        echo = Echo()
        with closing(echo), closing(Family(environment, [f"{HOST}:{port}"])) as family:
            family.start("worker", seat.worker_command(worker))
            node = family.start("SuperNode", seat.command(worker, port), echo.writer)
            code = _wait(node, echo, lambda: tell(_silence(seat)))
    if code and any(sign in echo.said() for sign in _NOT_TAKEN):
        raise FederationStalledError(_refusal(seat))
    return code


def _refusal(seat: Seat) -> str:
    if seat.key is None:
        return (
            f"The SuperLink {seat.superlink} cannot be reached, or takes only nodes with a "
            "registered key; start it first, and give its --root-certificates and a --key."
        )
    return (
        f"The SuperLink {seat.superlink} does not know this key, or cannot be reached with these "
        f"--root-certificates; on its machine: flwr supernode register {seat.key.name}.pub NAME"
    )


def _silence(seat: Seat) -> str:
    how = "without TLS" if seat.authority is None else "with TLS"
    return (
        f"No answer yet from the SuperLink {seat.superlink}; is it running there, and does it "
        f"speak {how}? The node goes on trying."
    )


def _wait(node: subprocess.Popen[bytes], echo: Echo, tell: Callable[[], None]) -> int:
    connected, told = False, time.monotonic()
    while True:
        try:
            return node.wait(_LOOK)
        except subprocess.TimeoutExpired:
            connected = connected or CONNECTED in echo.said()
        if not connected and time.monotonic() - told >= _SILENCE:
            told = time.monotonic()
            tell()
