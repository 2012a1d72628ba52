"""From the answers of some nodes to a cohort or an evaluation, nothing trusted.

An answer is taken or left as a whole: a missing array, a row too few, a wrong width or type and a
client that was not asked fail all clients of its node, with the reason. What single numbers are
worth is for the gate of the engine to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fedmgda._text import one_line
from fedmgda.flower.wire._messages import Answer, WireError
from fedmgda.values import Cohort, DenseUpdates, Evaluation, Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Vector

__all__ = ["Asked", "Columns", "cohort_of", "evaluation_of", "read_rows"]

Asked: TypeAlias = "Mapping[int, Sequence[int]]"
"""For each node the clients it was asked about."""

Columns: TypeAlias = "Mapping[str, tuple[tuple[int, ...], type]]"
"""For each array that an answer must have, the shape and type of a client's part of it."""

_REASON_LENGTH = 300


def read_rows(
    heard: Mapping[int, Answer | str], asked: Asked, columns: Columns, prefix: str = ""
) -> tuple[dict[int, dict[str, NDArray[Any]]], dict[int, str]]:
    """Return for each client its part of every array, or the reason why there is none.

    Args:
        heard: What the nodes answered.
        asked: What they were asked.
        columns: The arrays; their clients are along the first axis.
        prefix: How the names of the arrays begin.
    """
    rows: dict[int, dict[str, NDArray[Any]]] = {}
    reasons: dict[int, str] = {}
    for node, clients in asked.items():
        answer = heard[node]
        said = answer if isinstance(answer, str) else None
        try:
            if not isinstance(answer, str):
                reasons |= _failures(answer, clients)
                rows |= _rows(answer, clients, columns, prefix)
        except WireError as error:
            said = str(error)
        if said is not None:
            reasons |= dict.fromkeys(clients, said[:_REASON_LENGTH])
    return {i: row for i, row in rows.items() if i not in reasons}, reasons


def cohort_of(
    rows: Mapping[int, Mapping[str, NDArray[Any]]],
    reasons: Mapping[int, str],
    client_ids: Sequence[int],
    columns: Columns,
) -> Cohort:
    """Return what came back as the cohort of a round, in the order of the given clients."""
    done = [i for i in client_ids if i in rows]
    parts = {name: _stacked([rows[i][name] for i in done], *columns[name]) for name in columns}
    matrices = {
        name: DenseUpdates(parts.pop(name)) for name in ("updates", "gradients") if name in parts
    }
    failures = tuple(
        Failure(client_id=i, reason=reasons.get(i, "no reply")) for i in client_ids if i not in rows
    )
    return Cohort(client_ids=done, failures=failures, **matrices, **parts)


def evaluation_of(
    rows: Mapping[int, Mapping[str, NDArray[Any]]],
    reasons: Mapping[int, str],
    client_ids: Sequence[int],
    num_examples: Vector,
    num_models: int | None,
) -> Evaluation:
    """Return what came back as an evaluation, in the order of the given clients.

    Args:
        rows: Loss and accuracy of each client that was evaluated.
        reasons: Why others were not.
        client_ids: The m clients.
        num_examples: Of shape `(m,)`.
        num_models: k, or None where one model was given by itself.
    """
    shape = (len(client_ids),) if num_models is None else (len(client_ids), num_models)
    scores = {name: np.full(shape, np.nan) for name in ("losses", "accuracies")}
    for place, client in enumerate(client_ids):
        if client in rows:
            for name, array in scores.items():
                array[place] = rows[client][name]
    return Evaluation(
        client_ids=tuple(client_ids),
        losses=scores["losses"].T,
        accuracies=scores["accuracies"].T,
        num_examples=num_examples,
        failures=tuple(
            Failure(client_id=i, reason=reasons.get(i, "no reply"))
            for i in client_ids
            if i not in rows
        ),
    )


def _stacked(rows: Sequence[NDArray[Any]], shape: tuple[int, ...], kind: type) -> NDArray[Any]:
    return np.array(rows, kind).reshape(len(rows), *shape)


def _failures(answer: Answer, clients: Sequence[int]) -> dict[int, str]:
    """Return whom the node itself says to have failed."""
    failed: dict[int, str] = {}
    match answer.header.get("error"):
        case [int(), str() as sentence]:
            raise WireError(one_line(sentence))
    told = answer.header.get("failures", [])
    if not isinstance(told, list):
        raise WireError("failures is no list")
    for pair in told:
        match pair:
            case [int() as client, str() as reason] if client in clients:
                failed[client] = one_line(reason, _REASON_LENGTH)
            case _:
                raise WireError("failures names who was not asked of this node")
    return failed


def _rows(
    answer: Answer, clients: Sequence[int], columns: Columns, prefix: str
) -> dict[int, dict[str, NDArray[Any]]]:
    ids = _array(answer, f"{prefix}client_ids")
    if ids.ndim != 1 or ids.dtype != np.int64:
        raise WireError(f"client_ids are {ids.dtype} of shape {ids.shape}")
    told = ids.tolist()
    strangers = [i for i in told if i not in clients]
    if strangers:
        raise WireError(f"its node answered for client {strangers[0]}, who was not asked of it")
    if len(set(told)) < len(told):
        raise WireError("duplicate reply")
    arrays = {}
    for name, (shape, kind) in columns.items():
        array = _array(answer, prefix + name)
        if array.shape != (len(told), *shape) or array.dtype != np.dtype(kind):
            raise WireError(
                f"{name} is {array.dtype} of shape {array.shape}, not {np.dtype(kind)} of shape "
                f"{(len(told), *shape)}"
            )
        arrays[name] = array
    return {i: {name: a[row] for name, a in arrays.items()} for row, i in enumerate(told)}


def _array(answer: Answer, name: str) -> NDArray[Any]:
    if name not in answer.arrays:
        raise WireError(f"its reply has no {name!r}")
    return answer.arrays[name]
