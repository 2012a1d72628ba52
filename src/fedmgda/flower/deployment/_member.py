"""A node of a deployment on this machine, and whether it has come as far as the SuperLink."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from fedmgda._text import without_colours

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.flower.deployment._seat import Seat

__all__ = ["CONNECTED", "Member", "last_line"]

CONNECTED = "SuperNode ID:"
"""What Flower prints when the SuperLink has taken a node."""

_TAKEN = "address already in use"


@final
class Member:
    """A node of the deployment.

    Attributes:
        seat: Its place, with its key.
        node_id: What Flower calls it; it stays, because the key does.
        port: Where its own processes reach it.
    """

    def __init__(self, seat: Seat, node_id: str, port: int, log: Path) -> None:
        self.seat, self.node_id, self.port = seat, node_id, port
        self._log, self._from = log, 0

    @property
    def called(self) -> str:
        """How a sentence calls it: its number, and its file where it has one."""
        file = "" if self.seat.data is None else f" ({self.seat.data})"
        return f"Node {self.seat.index}{file}"

    def begin(self) -> None:
        """Take note that it is started now: what its log says already was said before."""
        self._from = self._log.stat().st_size if self._log.exists() else 0

    def has_connected(self) -> bool:
        """Tell whether the SuperLink has taken it since it was started."""
        return CONNECTED in self._said()

    def found_port_taken(self) -> bool:
        """Tell whether it said that somebody else listens on its port."""
        return _TAKEN in self._said()

    def last_words(self) -> str:
        """Return the last line that it has printed since it was started."""
        return last_line(self._said())

    def _said(self) -> str:
        if not self._log.exists():
            return ""
        with self._log.open("rb") as file:
            file.seek(self._from)
            return file.read().decode(errors="replace")


def last_line(text: str) -> str:
    r"""Return the last line of what a process printed that says something.

    >>> last_line("one\ntwo\n\n")
    'two'
    """
    said = [line for line in map(str.strip, without_colours(text).split("\n")) if line]
    return said[-1][-300:] if said else "it said nothing"
