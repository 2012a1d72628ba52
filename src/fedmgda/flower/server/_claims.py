"""Whose client is whose, where clients have names: one file is one client's, or nobody begins."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fedmgda._errors import FederationStalledError, SpecError
from fedmgda.flower.server._roster import NodeEvent

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from fedmgda.flower.server._grid_exchanges import GridExchanges
    from fedmgda.flower.server._statistics import Introduction

__all__ = ["owners_of", "refusals", "refuse_namesakes"]

_LOOK = 0.5  # seconds between two looks at who is connected
_FORGET = 90.0  # seconds after which Flower has surely noticed that a node is gone


def owners_of(
    met: Mapping[int, Introduction], permitted: Mapping[int, Container[int | str]] | None
) -> dict[str, int]:
    """Return the node of each client; of two that may claim one, the first is believed."""
    owners: dict[str, int] = {}
    for node, name in _claims(met, permitted):
        owners.setdefault(name, node)
    if not owners:
        raise FederationStalledError("No node may answer for any of its clients; check the roster.")
    return owners


def _claims(
    met: Mapping[int, Introduction], permitted: Mapping[int, Container[int | str]] | None
) -> Iterator[tuple[int, str]]:
    for node, told in met.items():
        for name in told.client_names:
            if permitted is None or name in permitted.get(node, ()):
                yield node, name


def refusals(
    met: Mapping[int, Introduction], owners: Mapping[str, int], ids: Mapping[str, int]
) -> Iterator[NodeEvent]:
    """Yield whom nodes claimed in vain."""
    for node, told in met.items():
        for name in told.client_names:
            owner = owners.get(name)
            if owner == node:
                continue
            why = f"node {owner} answers for it" if owner else f"its key is not that of {name!r}"
            clients = (ids[name],) if owner else ()
            yield NodeEvent(
                round_num=0, event="refused", node=str(node), clients=clients, reason=why
            )


def refuse_namesakes(exchanges: GridExchanges, met: dict[int, Introduction]) -> None:
    """Let no two files be one client: one of them would be left out, and nobody would notice.

    A node that was started anew without a key of its own has another id, and the old one may seem
    to be connected for a while.
    """
    ends = time.monotonic() + _FORGET
    while clash := _namesakes(met):
        if time.monotonic() >= ends:
            name, nodes = clash
            raise SpecError(
                f"Nodes {nodes[0]} and {nodes[1]} both have a client called {name!r:.60}; give one "
                "of them another name (fedmgda flower node --client NAME), or say with --roster "
                "whose it is."
            )
        exchanges.pause(_LOOK)
        online = exchanges.online()
        for node in [node for node in met if node not in online]:
            del met[node]


def _namesakes(met: Mapping[int, Introduction]) -> tuple[str, tuple[int, int]] | None:
    owners: dict[str, int] = {}
    for node, name in _claims(met, None):
        if owners.setdefault(name, node) != node:
            return name, (owners[name], node)
    return None
