"""Every field that leaves a node with a file of its own, and the one gate through which they pass.

What is not listed here is taken out of an answer before it leaves, whoever put it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from fedmgda.flower.wire._messages import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.flower.wire._messages import Question

__all__ = ["FIELDS", "Field", "documented"]


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A field of an answer.

    Attributes:
        name: Its name in the header, or that of the array; a last "*" stands for a number.
        phases: The phases whose answers have it.
        meaning: What it tells of the node.
    """

    name: str
    phases: tuple[str, ...]
    meaning: str


_ALL = ("hello", "statistics", "train", "evaluate", "gradients")
_WORK = ("train", "evaluate", "gradients")
_SINGLE = "predictions.*"
_ALSO = "also."

FIELDS: tuple[Field, ...] = (
    Field("run", _ALL, "as in the question"),
    Field("round", _ALL, "as in the question"),
    Field("exchange", _ALL, "as in the question"),
    Field("phase", _ALL, "as in the question"),
    Field("error", _ALL, "an exit code and a sentence without a value of the file"),
    Field("failures", _ALL, "the id of a client that failed, and the kind of error"),
    Field("own", ("hello",), "that the node has a file of its own"),
    Field("schema", ("hello",), "the digest of the spec's own schema"),
    Field("client_names", ("hello",), "what the clients of the node are called"),
    Field("sizes", ("hello",), "how many rows each client trains, validates and tests on"),
    Field("sizes.train", ("hello",), "how many rows each client trains on"),
    Field("sizes.validation", ("hello",), "how many rows each client validates on"),
    Field("sizes.test", ("hello",), "how many rows each client tests on"),
    Field("client_ids", ("hello", "statistics", *_WORK), "the ids that the server gave"),
    Field("num_clients", ("hello",), "as the server said"),
    Field("fingerprint", ("hello",), "as the server said"),
    Field("num_classes", ("hello",), "of the spec's own schema"),
    Field("class_names", ("hello",), "of the spec's own schema"),
    Field("num_params", ("hello",), "of the model"),
    Field("num_buffers", ("hello",), "of the model"),
    Field("layout", ("hello",), "the names and shapes of the model's tensors"),
    Field("value.*", ("hello",), "tensors of the initial model that are not trained"),
    Field("initial", ("hello",), "the initial model, which follows from the seed"),
    Field("path", ("hello",), "what can compute on the node: compiled or torch"),
    Field(
        "sums",
        ("statistics",),
        "of each column of numbers, over the training rows of all clients of the node: how many "
        "are known, their sum, the sum of their squares; nothing if few are known",
    ),
    Field(
        "classes",
        ("statistics",),
        "how many training rows of the node each class has; nothing of one with few, nor of others "
        "by which it could be told",
    ),
    Field("target", ("statistics",), "of a regression: the same sums of the target"),
    Field("curvatures", ("statistics",), "of each client the mean square length of its rows"),
    Field("updates", ("train", "gradients"), "of each client the update, or its gradient"),
    Field("num_examples", ("train", "gradients"), "how many rows each client trains on"),
    Field("losses", _WORK, "of each client the mean loss of the model it received"),
    Field("accuracies", ("train", "evaluate"), "of each client the share of right answers"),
    Field("local_losses", ("train",), "of each client the mean loss while it trained"),
    Field("buffers", ("train",), "of each client the float buffers of its model"),
    Field("gradients", ("train",), "of each client the gradient, where steps are protected"),
    Field("before", ("train",), "of each client the loss, where steps are protected"),
    Field(
        _SINGLE,
        ("evaluate",),
        "single rows of the test split: client, target and output; only where the spec sets "
        "records.predictions or evaluation.metrics",
    ),
)
"""All of them. `also.NAME.` before a name means that it was sent unasked for the next question."""


def documented(question: Question, answer: Answer, *, predictions: bool) -> Answer:
    """Return an answer without what is not listed.

    Args:
        question: What was asked.
        answer: What would be answered.
        predictions: Whether single rows may leave.
    """
    known = [
        field.name
        for field in FIELDS
        if question.phase in field.phases and (predictions or field.name != _SINGLE)
    ]
    return Answer(header=_told(_listed(answer.header, known)), arrays=_listed(answer.arrays, known))


def _listed(table: Mapping[str, Any], known: list[str]) -> dict[str, Any]:
    starts = tuple(name[:-1] for name in known if name.endswith("*"))
    return {
        key: value for key, value in table.items() if _plain(key) in known or key.startswith(starts)
    }


def _plain(key: str) -> str:
    """Return a name without `also.NAME.` before it."""
    return key.split(".", 2)[2] if key.startswith(_ALSO) and key.count(".") >= 2 else key


def _told(header: dict[str, Any]) -> dict[str, Any]:
    """Leave of the reasons of failures what kind of error it was: its text may quote a row."""
    failures = [[client, reason.partition(":")[0]] for client, reason in header.get("failures", ())]
    return header | ({"failures": failures} if "failures" in header else {})
