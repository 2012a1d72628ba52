"""One exchange: a question to each of some nodes, and their answers until the deadline."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, final

from flwr.app import Message, MessageType

from fedmgda._errors import DataError, FederationStalledError, SpecError
from fedmgda._text import one_line
from fedmgda.flower.wire._messages import (
    Answer,
    Question,
    WireError,
    answer_from_records,
    to_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["READING", "Grid", "GridExchanges", "Heard", "checked"]

Heard: TypeAlias = "dict[int, Answer | str]"
"""For each node that was asked its answer, or why there is none (a short clause)."""

READING = 120.0
"""Seconds that a node may take to read its file, however short a round may be."""

T = TypeVar("T")

_TYPES = {"hello": MessageType.QUERY, "statistics": MessageType.QUERY, "train": MessageType.TRAIN}
_EXPIRED = 3  # Flower's code for a message that it does not have any more
_GONE = 5  # and for a node that is no longer there
_ERRORS = {
    1: "its ClientApp could not be loaded",
    2: "its ClientApp raised an error",
    _EXPIRED: "its message was lost",
    4: "its answer was lost",
    _GONE: "its node is gone",
    8: "its ClientApp was ended by the system",
}
_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.02, 0.5, 1.3  # seconds between two looks
_CLOCKS = 1.0  # seconds by which a message may end before its exchange
_TEXT_LENGTH = 160
_ENDING = {error.exit_code: error for error in (SpecError, DataError)}


class Grid(Protocol):
    """What is used of Flower's grid."""

    def get_node_ids(self) -> Iterable[int]:
        """Return who is connected."""

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages, and return their ids."""

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to messages that have come in."""


@final
class GridExchanges:
    """Asks nodes over Flower's grid; the one place that waits.

    A reply counts if it came before the deadline, to a message of this very exchange, and repeats
    its run, round and phase. A message lives no longer than its exchange, and its replies are
    never looked for afterwards: a late one enters nothing.

    Attributes:
        count: How many there have been.
    """

    def __init__(self, grid: Grid, run: str, look_up: Callable[[], None] = lambda: None) -> None:
        """Begin.

        Args:
            grid: Flower's.
            run: What the run is called in questions and answers.
            look_up: Called while waiting; may raise to end it.
        """
        self._grid, self._run, self._look_up = grid, run, look_up
        self.count = 0

    def online(self) -> set[int]:
        """Return the nodes that are connected now."""
        return set(_served(self._grid.get_node_ids))

    def pause(self, seconds: float) -> None:
        """Wait for a moment."""
        self._look_up()
        time.sleep(seconds)

    def ask(self, questions: Mapping[int, Question], *, round_num: int, deadline: float) -> Heard:
        """Ask some nodes, each its own question, and wait for all of them.

        Args:
            questions: The questions by node.
            round_num: The round they belong to.
            deadline: After how many seconds an answer no longer counts.
        """
        self.count += 1
        key = {"run": self._run, "round": round_num, "exchange": self.count}
        ends = time.monotonic() + deadline
        sent, heard = self._send(questions, key, deadline)
        late, pause = f"no reply within {deadline:g} s", _FIRST_PAUSE
        while sent:
            for reply in _served(self._grid.pull_messages, list(sent)):
                node = sent.pop(reply.metadata.reply_to_message_id, None)
                if node is not None:  # a second reply to the same message finds nobody waiting
                    heard[node] = _read(reply, {**key, "phase": questions[node].phase})
                    if reply.has_error() and reply.error.code == _EXPIRED and _is_over(ends):
                        heard[node] = late
            left = ends - time.monotonic()
            if not sent or left <= 0:
                break
            self.pause(min(pause, left))
            pause = min(pause * _GROWTH, _LONGEST_PAUSE)
        heard |= dict.fromkeys(sent.values(), late)
        return heard

    def _send(
        self, questions: Mapping[int, Question], key: Mapping[str, Any], deadline: float
    ) -> tuple[dict[str, int], Heard]:
        """Send the questions; return the node of each message, and who could not be reached."""
        messages = [
            Message(
                to_records(question.with_header(**key, deadline=deadline)),
                dst_node_id=node,
                message_type=_TYPES.get(question.phase, MessageType.EVALUATE),
                ttl=deadline,
                group_id=str(key["round"]),
            )
            for node, question in questions.items()
        ]
        accepted = set(_served(self._grid.push_messages, messages)) if messages else set()
        sent: dict[str, int] = {}
        heard: Heard = {}
        for node, message in zip(questions, messages, strict=True):
            if message.metadata.message_id in accepted:
                sent[message.metadata.message_id] = node
            else:
                heard[node] = "its node could not be reached"
        return sent, heard


def checked(node: int, answer: Answer | str, *, strict: bool = True) -> Answer:
    """Return the answer of a node, or raise why there is none.

    Args:
        node: Whose it is.
        answer: What was heard.
        strict: Whether a node that says that spec or data is wrong ends the run.

    Raises:
        WireError: If there is none.
        DataError: If it says that its file does not fit; or a SpecError.
    """
    if isinstance(answer, str):
        raise WireError(answer)
    match answer.header.get("error"):
        case [int() as code, str() as said]:
            sentence = one_line(said)
            if strict and code in _ENDING:
                raise _ENDING[code](f"Node {node} says: {sentence.rstrip('.')}.")
            raise WireError(sentence)
    return answer


def _served(call: Callable[..., Iterable[T]], *arguments: Any) -> list[T]:
    """Call Flower; whatever it raises when its server is gone ends the run, which can go on."""
    try:
        return list(call(*arguments))
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_TEXT_LENGTH]
        raise FederationStalledError(
            f"Flower's SuperLink does not serve this run any more ({reason}); start it again, and "
            "the same command goes on from the last round that was saved."
        ) from error


def _is_over(ends: float) -> bool:
    """Tell whether it is the end of an exchange, on a clock that is not quite Flower's."""
    return ends - time.monotonic() < _CLOCKS


def _read(reply: Message, key: Mapping[str, Any]) -> Answer | str:
    """Return the answer in a reply, or why there is none."""
    if reply.has_error():
        text = " ".join(str(reply.error.reason or "").split())[:_TEXT_LENGTH]
        known = _ERRORS.get(reply.error.code, f"Flower's error {reply.error.code}")
        return f"{known} ({text})" if text else known
    if not reply.has_content():
        return "its reply is empty"
    try:
        answer = answer_from_records(reply.content)
    except WireError as error:
        return one_line(f"its reply cannot be read: {error}")
    other = [name for name in key if answer.header.get(name) != key[name]]
    if other:
        return f"its reply is to another {' and '.join(other)}"
    return answer
