"""Which node answers for which client."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from fedmgda._errors import SpecError
from fedmgda._files import read_file
from fedmgda._json import read_json
from fedmgda._text import listed, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["NodeEvent", "Roster", "permissions", "read_refusals"]

_LIMIT = 1 << 26


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """A line of `nodes.jsonl`.

    Attributes:
        round_num: The round before which it was noticed; 0 before the first.
        event: What happened: a node "joined" with clients, is "gone", clients "moved" to it, or it
            was "refused".
        node: Flower's id of the node, as text: it has more digits than a JSON number.
        clients: Whom it is about.
        reason: One clause.
    """

    round_num: int
    event: Literal["joined", "gone", "moved", "refused"]
    node: str
    clients: tuple[int, ...] = ()
    reason: str = ""

    def line(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    def sentence(self) -> str:
        """Return what a person is told of it."""
        about = f" for client {listed(map(str, self.clients), 5, last=' and ')}" * bool(
            self.clients
        )
        return f"Node {self.node} was refused{about}: {one_line(self.reason).rstrip('.')}."


def read_refusals(path: Path) -> list[NodeEvent]:
    """Return each refusal that a `nodes.jsonl` tells of, once; none where there is no such file."""
    found = dict[NodeEvent, None]()
    for line in (read_file(path, _LIMIT) or b"").splitlines():
        try:
            told = read_json(line)
            if told["event"] == "refused":
                event = NodeEvent(**{**told, "round_num": 0, "clients": tuple(told["clients"])})
                found[event] = None
        except (ValueError, TypeError, KeyError):
            continue  # a line that was cut off; the file decides nothing
    return list(found)


def permissions(text: str) -> dict[int, Container[int | str]] | None:
    """Read whom each registered node may answer for; None where that is not said.

    Args:
        text: JSON, as in `{"123": [0, 3]}`: clients, by id or by name, of a node id; or "1/3" for
            those whose id leaves 1 when it is divided by 3; or nothing.

    >>> permissions('{"12": [0, "north"]}')[12] == {0, "north"}
    True
    >>> [i in permissions('{"12": "1/3"}')[12] for i in range(6)]
    [False, True, False, False, True, False]
    """
    if not text.strip():
        return None
    try:
        table = read_json(text)
        return {int(node): _clients(clients) for node, clients in table.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise SpecError(
            f"roster must be JSON with a list of clients for each node id, got {text!r:.60}."
        ) from error


def _clients(values: Any) -> Container[int | str]:
    if isinstance(values, str):
        index, _, count = values.partition("/")
        return _EveryNth(int(index), int(count))
    if not isinstance(values, list) or any(type(value) not in {int, str} for value in values):
        raise ValueError(values)
    return frozenset(values)


@final
@dataclass(frozen=True, slots=True)
class _EveryNth:
    """The clients that node `index` of `count` holds where all nodes can make the data."""

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count:
            raise ValueError(f"{self.index}/{self.count}")

    def __contains__(self, client: object) -> bool:
        return isinstance(client, int) and client % self.count == self.index


@final
class Roster:
    """Who answers for whom, as nodes come and go.

    A node may answer for the clients it claims and, where it is said whom it may, no others. The
    first that claims a client has it for as long as it is connected: then the next that does.
    """

    def __init__(
        self,
        permitted: Mapping[int, Container[int | str]] | None,
        record: Callable[[NodeEvent], None],
    ) -> None:
        """Begin with nobody.

        Args:
            permitted: For each node the clients it may answer for; None permits all.
            record: Told of whatever happens.
        """
        self._permitted, self._record = permitted, record
        self._claims: dict[int, tuple[int, ...]] = {}  # in the order in which they were made
        self._online: set[int] = set()
        self._holders: dict[int, int] = {}
        self._last_holders: dict[int, int] = {}
        self._told: set[tuple[int, int]] = set()

    @property
    def known(self) -> frozenset[int]:
        """The nodes that were met and are connected."""
        return frozenset(self._claims.keys() & self._online)

    @property
    def holders(self) -> dict[int, int]:
        """The node that answers for each client that has one."""
        return dict(self._holders)

    def holder(self, client_id: int) -> int | None:
        """Return the node that answers for a client, if there is one."""
        return self._holders.get(client_id)

    def refresh(self, online: Iterable[int], round_num: int) -> list[int]:
        """Take note of who is connected now; return those that were never met."""
        self._online = set(online)
        lost: dict[int, list[int]] = {}
        for client, node in self._holders.items():
            if node not in self._online:
                lost.setdefault(node, []).append(client)
        for node, clients in lost.items():
            for client in clients:
                del self._holders[client]
            self._say(round_num, "gone", node, clients, "it is not connected any more")
        self._settle(round_num)
        return sorted(self._online - self._claims.keys())

    def claim(
        self, node: int, clients: Sequence[int], names: Sequence[str] | None, round_num: int
    ) -> None:
        """Let a node claim clients."""
        known_as = dict(zip(clients, names or map(str, clients), strict=True))
        allowed = list(clients)
        if self._permitted is not None:
            mine = self._permitted.get(node, ())
            allowed = [i for i in clients if i in mine or known_as[i] in mine]
            refused = [i for i in clients if i not in allowed]
            if refused:
                self._say(round_num, "refused", node, refused, "its key is not theirs")
        self._claims[node] = tuple(allowed)
        self._settle(round_num)

    def refuse(self, node: int, reason: str, round_num: int) -> None:
        """Take note of a node that cannot be asked anything."""
        self._claims[node] = ()
        self._say(round_num, "refused", node, (), reason)

    def doubt(self, node: int, clients: Sequence[int], reason: str, round_num: int) -> None:
        """Take note of an answer for clients that does not count."""
        self._say(round_num, "refused", node, clients, reason)

    def _settle(self, round_num: int) -> None:
        for node in self._claims:
            if node in self._online:
                self._give(node, round_num)

    def _give(self, node: int, round_num: int) -> None:
        free = [i for i in self._claims[node] if i not in self._holders]
        moved = [i for i in free if self._last_holders.get(i, node) != node]
        came = [i for i in free if i not in moved]
        for client in free:
            self._holders[client] = self._last_holders[client] = node
            self._told.discard((node, client))
        if came:
            self._say(round_num, "joined", node, came, "it answers for them")
        if moved:
            self._say(round_num, "moved", node, moved, "their node before is gone")
        held = [i for i in self._claims[node] if self._holders[i] != node]
        news = [i for i in held if (node, i) not in self._told]
        if news:
            self._told |= {(node, i) for i in news}
            other = self._holders[news[0]]
            self._say(round_num, "refused", node, news, f"node {other} answers for them")

    def _say(
        self,
        round_num: int,
        event: Literal["joined", "gone", "moved", "refused"],
        node: int,
        clients: Sequence[int],
        reason: str,
    ) -> None:
        self._record(
            NodeEvent(
                round_num=round_num,
                event=event,
                node=str(node),
                clients=tuple(sorted(clients)),
                reason=reason,
            )
        )
