"""Waiting for the nodes of a federation: what is said meanwhile, and when it was in vain."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, final

from fedmgda._errors import FederationStalledError
from fedmgda._text import listed

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Waiting"]

_LOG = logging.getLogger("flwr")
_EVERY = 10.0  # seconds between two lines


@final
class Waiting:
    """How long nodes have been waited for.

    Args:
        num_nodes: How many there shall be.
        seconds: How long they may take to connect.
    """

    def __init__(self, num_nodes: int, seconds: float) -> None:
        self._num_nodes, self._seconds = num_nodes, seconds
        self._told = time.monotonic()
        self._ends = self._told + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._ends

    def tell(self, online: Collection[int]) -> None:
        """Say from time to time how many are connected."""
        now = time.monotonic()
        if now - self._told < _EVERY:
            return
        self._told = now
        _LOG.info(
            "fedmgda: %d of %d nodes are connected, %.0f s are left for the others",
            len(online),
            self._num_nodes,
            max(self._ends - now, 0.0),
        )

    def in_vain(self, joined: Collection[int], why: str, remedy: str) -> FederationStalledError:
        """Return the error of too few nodes.

        Args:
            joined: Those that did join.
            why: What else is known of the others, or nothing; it follows the names.
            remedy: What can be done about that, or nothing.
        """
        names = listed(map(str, sorted(joined)), 5, last=" and ")
        return FederationStalledError(
            f"{len(joined)} of {self._num_nodes} nodes joined within {self._seconds:g} s"
            f"{names and f' ({names})'}{why}; start the others, and look whether their keys are "
            "registered (flwr supernode list), for a node whose key is not looks as if it were "
            f"not started{remedy}."
        )
