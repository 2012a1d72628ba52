"""One exchange with the nodes of somebody's Flower app: what was sent, and who answered what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from flwr.app import RecordDict

from fedmgda._text import without_colours
from fedmgda.flower.strategy._client_id import claimed_client
from fedmgda.values import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flwr.app import Message

    from fedmgda._types import Vector
    from fedmgda.flower.strategy._known_nodes import KnownNodes
    from fedmgda.flower.strategy._model_arrays import ModelArrays

__all__ = ["Asked", "Received", "receive"]

_HEAD, _TAIL = 60, 140  # characters of an error that a node reports: what ends it says most
_NOBODY = "no connected node holds this client"
_UNSAID = "no node has said that it is this client"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """What was sent, and whose answers count.

    Attributes:
        round_num: The round.
        clients: The clients whose answers count, ascending.
        messages: What was sent; whoever sends it writes the ids into it.
        params: Of shape `(d + num_buffers,)`, the model that was sent.
        arrays: Where its arrays lie.
    """

    round_num: int
    clients: tuple[int, ...]
    messages: Sequence[Message]
    params: Vector
    arrays: ModelArrays

    def by_node(self, replies: Iterable[Message]) -> dict[int, list[Message]]:
        """Sort replies by the node they stand for: of one that is gone, another node says so."""
        sent = {m.metadata.message_id: m.metadata.dst_node_id for m in self.messages}
        found: dict[int, list[Message]] = {}
        for reply in replies:
            # Messages that somebody made anew have ids that are not known here.
            answered = reply.metadata.reply_to_message_id or None
            node = sent.get(answered or "-", reply.metadata.src_node_id)
            found.setdefault(node, []).append(reply)
        return found


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Received:
    """The answers that count.

    Attributes:
        contents: What came, by client, ascending.
        failures: Who answered with an error, again or for another client, and who could not be
            asked; -1 is a client whose number is not known.
    """

    contents: Mapping[int, RecordDict]
    failures: tuple[Failure, ...]

    def of(self, clients: Iterable[int]) -> Received:
        """Return the answers of some of the clients that were asked."""
        counted = {-1, *clients}
        return Received(
            contents={c: content for c, content in self.contents.items() if c in counted},
            failures=tuple(f for f in self.failures if f.client_id in counted),
        )


def receive(asked: Asked, replies: Iterable[Message], nodes: KnownNodes) -> Received:
    """Sort the answers of one exchange by client, and learn which node is which client."""
    by_node = asked.by_node(replies)
    refused = _introduce(by_node, nodes)
    contents, failures = dict[int, RecordDict](), list[Failure]()
    for node, answers in by_node.items():
        client, first = nodes.client_of(node), answers[0]
        number = -1 if client is None else client
        if first.has_error():
            reason = first.error.reason or f"error {first.error.code}"
            failures.append(Failure(client_id=number, reason=_clipped(reason)))
        elif node in refused:
            failures.append(Failure(client_id=number, reason=refused[node]))
        elif client is not None:
            contents[client] = first.content
            failures += [Failure(client_id=client, reason="duplicate reply") for _ in answers[1:]]
    reached = {nodes.client_of(message.metadata.dst_node_id) for message in asked.messages}
    reached |= contents.keys() | {failure.client_id for failure in failures}
    nobody = _UNSAID if None in reached else _NOBODY
    failures += [Failure(client_id=c, reason=nobody) for c in asked.clients if c not in reached]
    ordered = {client: contents[client] for client in sorted(contents)}
    found = Received(contents=ordered, failures=tuple(sorted(failures, key=_by_client)))
    return found.of(asked.clients)


def _introduce(by_node: Mapping[int, Sequence[Message]], nodes: KnownNodes) -> dict[int, str]:
    """Learn from their answers which client each node is; return who is not what it says."""
    refused, silent = dict[int, str](), list[int]()
    for node, answers in sorted(by_node.items()):
        if answers[0].has_error():
            continue
        client = claimed_client(answers[0].content)
        if client is None:
            silent += [node] if nodes.client_of(node) is None else []
        elif why := nodes.claim(node, client):
            refused[node] = f"its node {why}"
    nodes.number(silent)
    return refused


def _clipped(text: str) -> str:
    r"""Return an error in one line: how it begins and how it ends.

    >>> _clipped("\x1b[36mone\x1b[0m\n two")
    'one two'
    >>> len(_clipped("word " * 1000))
    203
    """
    plain = "".join(c if c.isprintable() else " " for c in without_colours(text))
    line = " ".join(plain.split())
    return line if len(line) <= _HEAD + _TAIL else f"{line[:_HEAD]} … {line[-_TAIL:]}"


def _by_client(failure: Failure) -> tuple[int, str]:
    return failure.client_id, failure.reason
