"""Which node holds which client, for apps whose nodes need not say."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, final

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from fedmgda._errors import FederationStalledError
from fedmgda.flower.strategy._client_id import CLIENT_ID, claimed_client

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flwr.serverapp import Grid

__all__ = ["KnownNodes", "wait_for_nodes"]

_LOG = logging.getLogger("flwr")
_PAUSE = 0.5  # seconds between two looks at who is there


def wait_for_nodes(grid: Grid, wanted: int, seconds: float) -> list[int]:
    """Return the connected nodes, ascending, as soon as there are enough of them.

    Raises:
        FederationStalledError: If there are not after so many seconds.
    """
    until = time.monotonic() + seconds
    while len(nodes := sorted(grid.get_node_ids())) < wanted:
        if time.monotonic() >= until:
            raise FederationStalledError(
                f"{len(nodes)} of at least {wanted} nodes are connected after {seconds:g} s; start "
                "more, wait longer (wait), or ask for fewer (min_available_nodes, "
                "min_train_nodes, min_evaluate_nodes)."
            )
        time.sleep(_PAUSE)
    return nodes


@final
class KnownNodes:
    """The nodes of a run and their clients, numbered from 0.

    A node says which client it is, in answer to a query or among its metrics. One that answers and
    does not say is given the lowest number that is free, in the order of node ids. The first node
    that is connected keeps its client; when it is gone, another may come for it.

    Attributes:
        num_clients: n.
        numbered: The clients that were given a number, with their nodes: in another run they are
            others.
    """

    def __init__(self, num_clients: int) -> None:
        self.num_clients = num_clients
        self.numbered: dict[int, int] = {}
        self._clients: dict[int, int] = {}
        self._online: frozenset[int] = frozenset()
        self._queried: set[int] = set()

    def refresh(self, grid: Grid) -> None:
        """See who is connected; forget who is not."""
        self._online = frozenset(grid.get_node_ids())
        self._clients = {n: c for n, c in self._clients.items() if n in self._online}

    def client_of(self, node: int) -> int | None:
        """Return the client of a node; None where it is not known."""
        return self._clients.get(node)

    def holders(self, clients: Iterable[int]) -> list[int]:
        """Return the nodes that hold some clients, ascending by client, as far as known."""
        nodes = {client: node for node, client in self._clients.items()}
        return [nodes[client] for client in sorted(clients) if client in nodes]

    def strangers(self) -> list[int]:
        """Return the connected nodes whose client is not known, ascending; none once all are."""
        if len(self._clients) >= self.num_clients:
            return []
        return sorted(self._online - self._clients.keys())

    def ask(self, grid: Grid, timeout: float) -> None:
        """Ask every stranger once which client it is; an app without a query does not answer."""
        asked = [node for node in self.strangers() if node not in self._queried]
        self._queried.update(asked)
        content = RecordDict({"config": ConfigRecord({"ask": CLIENT_ID})})
        messages = [
            Message(content=content, message_type=MessageType.QUERY, dst_node_id=node, ttl=timeout)
            for node in asked
        ]
        if not messages:
            return
        for reply in grid.send_and_receive(messages, timeout=timeout):
            claim = None if reply.has_error() else claimed_client(reply.content)
            if claim is not None and (refusal := self.claim(reply.metadata.src_node_id, claim)):
                _LOG.warning("node %d: %s", reply.metadata.src_node_id, refusal)

    def claim(self, node: int, client: int) -> str | None:
        """Take a node for a client; return why it is not (one short clause), or None."""
        known = self._clients.get(node)
        if known is not None:
            return None if known == client else f"says it is client {client}, and was {known}"
        if not 0 <= client < self.num_clients:
            return f"says it is client {client}, and there are {self.num_clients}, from 0"
        holder = next((n for n, c in self._clients.items() if c == client), None)
        if holder is not None:
            return f"says it is client {client}, which node {holder} holds"
        self._clients[node] = client
        return None

    def number(self, nodes: Iterable[int]) -> None:
        """Give numbers to nodes that answered and did not say which client they are."""
        free = sorted(set(range(self.num_clients)) - set(self._clients.values()))
        given = dict(zip(sorted(nodes), free, strict=False))
        if given and not self.numbered:
            _LOG.warning(
                "%d nodes do not say which client they are, and are numbered by their node ids, "
                "which are new in every run; let the metrics they return have %r.",
                len(given),
                CLIENT_ID,
            )
        self._clients |= given
        self.numbered |= {client: node for node, client in given.items()}
