"""What travels: a question to a node and its answer, as Flower's records or as plain bytes.

Both are a small JSON object, the header, and named arrays. Every number that enters a result is in
an array, so that it arrives with all its bits. Nothing that arrives is trusted: no byte is
unpickled, sizes are checked before memory is taken, and what is missing is named.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedmgda._json import read_json
from fedmgda.experiments import npy_array, npz_arrays, npz_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import UnionType

    from numpy.typing import NDArray

    from fedmgda.values import Failure

__all__ = [
    "PHASES",
    "Answer",
    "Question",
    "WireError",
    "answer_from_bytes",
    "answer_from_records",
    "question_from_bytes",
    "question_from_records",
    "to_bytes",
    "to_records",
]

PHASES = ("hello", "statistics", "train", "evaluate", "gradients")
"""What a node can be asked."""

_REASON_LENGTH = 300
_MAX_HEADER = 1 << 26  # the names of a million clients
_ARRAYS, _CONFIG, _HEADER = "arrays", "fedmgda", "header"
_LENGTH = struct.Struct(">Q")


class WireError(ValueError):
    """What arrived is no message of ours; one clause says why."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What a node is asked.

    Attributes:
        phase: One of `PHASES`.
        header: `run`, `round` and `exchange`, which the answer repeats; `spec`, the resolved spec;
            `path`, what computes; `client_ids`, who is asked; `deadline`, in seconds; and what the
            phase needs.
        arrays: The model, and what else is numbers.
    """

    phase: str
    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def wanted(self, name: str, kind: type | UnionType) -> Any:
        """Return a value of the header, or say that it is not there."""
        value = self.header.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise WireError(f"the question has no {name}")
        return value

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, or say that it is not there."""
        if name not in self.arrays:
            raise WireError(f"the question has no {name}")
        return self.arrays[name]

    def with_header(self, **more: Any) -> Question:
        """Return the question with more in its header."""
        return Question(phase=self.phase, header={**self.header, **more}, arrays=self.arrays)

    def answered(
        self,
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        failures: Iterable[Failure] = (),
    ) -> Answer:
        """Return an answer, which repeats what it answers."""
        reasons = [[failure.client_id, failure.reason[:_REASON_LENGTH]] for failure in failures]
        return Answer(header={**self._key(), "failures": reasons, **header}, arrays=arrays)

    def refused(self, code: int, sentence: str) -> Answer:
        """Return the answer of a node that has nothing to say."""
        clipped = " ".join(sentence.split())[:_REASON_LENGTH]
        return Answer(header={**self._key(), "error": [code, clipped]})

    def _key(self) -> dict[str, Any]:
        known = {key: self.header.get(key) for key in ("run", "round", "exchange")}
        return {**known, "phase": self.phase}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What a node answers.

    Attributes:
        header: `run`, `round`, `phase` and `exchange` of the question; `failures`, pairs of a
            client and the reason; `error`, an exit code and a sentence, where the whole node has
            nothing to say.
        arrays: One row for each client that succeeded, in the order of `client_ids`.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def to_records(message: Question | Answer) -> RecordDict:
    """Return a message as Flower carries it."""
    arrays = ArrayRecord({name: Array(_plain(a)) for name, a in message.arrays.items()})
    config = ConfigRecord({_HEADER: json.dumps(_header_of(message))})
    return RecordDict({_ARRAYS: arrays, _CONFIG: config})


def question_from_records(records: RecordDict) -> Question:
    """Read a question; raises a `WireError` for anything else."""
    return _question(*_from_records(records))


def answer_from_records(records: RecordDict) -> Answer:
    """Read an answer; raises a `WireError` for anything else."""
    header, arrays = _from_records(records)
    return Answer(header=header, arrays=arrays)


def to_bytes(message: Question | Answer) -> bytes:
    """Return a message as a resident worker's socket carries it."""
    header = json.dumps(_header_of(message)).encode()
    arrays = npz_bytes({name: _plain(array) for name, array in message.arrays.items()})
    return b"".join((_LENGTH.pack(len(header)), header, arrays))


def question_from_bytes(content: bytes) -> Question:
    """Read a question; raises a `WireError` for anything else."""
    return _question(*_from_bytes(content))


def answer_from_bytes(content: bytes) -> Answer:
    """Read an answer; raises a `WireError` for anything else."""
    header, arrays = _from_bytes(content)
    return Answer(header=header, arrays=arrays)


def _header_of(message: Question | Answer) -> dict[str, Any]:
    phase = {"phase": message.phase} if isinstance(message, Question) else {}
    return {**message.header, **phase}


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array, order="C")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"only numbers travel, got an array of {array.dtype}.")
    return array


def _question(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Question:
    phase = header.pop("phase", None)
    if phase not in PHASES:
        raise WireError(f"{phase!r:.40} is no phase; there are {', '.join(PHASES)}")
    return Question(phase=phase, header=header, arrays=arrays)


def _from_records(records: RecordDict) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    config, arrays = records.get(_CONFIG), records.get(_ARRAYS)
    if not isinstance(config, ConfigRecord):
        raise WireError(f"there is no ConfigRecord {_CONFIG!r}")
    if not isinstance(arrays, ArrayRecord):
        raise WireError(f"there is no ArrayRecord {_ARRAYS!r}")
    text = config.get(_HEADER)
    if not isinstance(text, str):
        raise WireError(f"the ConfigRecord {_CONFIG!r} has no text {_HEADER!r}")
    return _header(text), {name: _array(name, array.data) for name, array in arrays.items()}


def _from_bytes(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    start = _LENGTH.size
    if len(content) < start:
        raise WireError("the message has no header")
    (length,) = _LENGTH.unpack_from(content)
    if length > min(_MAX_HEADER, len(content) - start):
        raise WireError("the message is shorter than its header")
    try:
        text = content[start : start + length].decode()
        arrays = npz_arrays(content[start + length :])
    except ValueError as error:
        raise WireError(str(error)) from error
    return _header(text), {name: _numbers(name, array) for name, array in arrays.items()}


def _header(text: str) -> dict[str, Any]:
    if len(text) > _MAX_HEADER:
        raise WireError(f"a header of {len(text)} characters is too long")
    try:
        header = read_json(text)
    except ValueError as error:
        raise WireError(f"the header is no JSON ({error})") from error
    if not isinstance(header, dict):
        raise WireError("the header is no JSON object")
    return header


def _array(name: str, content: bytes) -> NDArray[Any]:
    try:
        return _numbers(name, npy_array(content, name))
    except ValueError as error:
        raise WireError(str(error)) from error


def _numbers(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise WireError(f"{name!r:.60} is an array of {array.dtype!s:.40}, not of numbers")
    return array
