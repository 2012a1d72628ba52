"""The gate: nothing reaches a rule before it was looked at here, and nothing is lost silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.federation._forms import not_an_array, not_real, not_text, not_whole
from fedmgda.values import Cohort, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda._types import Vector

__all__ = ["MAX_EXAMPLES", "Reply", "admit", "collect"]

MAX_EXAMPLES = 1e12
"""More training examples than this on one client is a mistake or a lie."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one client sent, not yet trusted.

    Attributes:
        client_id: Who sent it.
        round_num: The round it answers.
        update: g_i, which should be a vector like the model; anything is accepted here.
        num_examples: The number of training examples the client claims.
        loss: The loss the client claims for the model it received.
        local_loss: The mean of the batch losses it claims to have seen while it trained.
        buffers: How its float buffers moved, a vector; None where the model has none.
        run: Which run it answers; replies to other runs are ignored.
    """

    client_id: int
    round_num: int
    update: Any
    num_examples: Any
    loss: Any
    local_loss: Any = float("nan")
    buffers: Any = None
    run: str = ""


def collect(
    replies: Iterable[Reply],
    params: Vector,
    sampled: tuple[int, ...],
    key: tuple[str, int],
    num_buffers: int = 0,
) -> Cohort:
    """Make a cohort of replies that arrived one by one, over whatever wire.

    A reply counts once, keyed by run, round and client. What cannot be a row of the cohort, by its
    key, its shape or its type, becomes a failure with its reason, of client -1 where it does not
    say who sent it.

    Args:
        replies: The replies in any order; rows come out in the order of `sampled`.
        params: The model that was sent, of shape `(d + num_buffers,)`: an update, and the buffers
            beside it, must match it exactly.
        sampled: The clients that were asked.
        key: The run and the round that is being collected.
        num_buffers: How many entries at the tail of the model are float buffers.
    """
    asked = frozenset(sampled)
    first: dict[int, Reply] = {}
    failures = []
    for reply in replies:
        reason = (
            _unreadable(reply)
            or _misplaced(reply, first, asked, key)
            or _malformed(reply, params, num_buffers)
        )
        if reason is None:
            first[reply.client_id] = reply
        else:
            sender = _sender(reply.client_id) if isinstance(reply, Reply) else -1
            failures.append(Failure(client_id=sender, reason=reason))
    heard = first.keys() | {failure.client_id for failure in failures}
    failures += [Failure(client_id=i, reason="no reply") for i in sampled if i not in heard]
    clients = tuple(i for i in sampled if i in first)
    rows = [first[i] for i in clients]
    updates = np.array([reply.update for reply in rows], params.dtype)
    buffers = np.array([reply.buffers for reply in rows] if num_buffers else (), params.dtype)
    return Cohort(
        client_ids=clients,
        updates=updates.reshape(-1, len(params) - num_buffers),
        num_examples=np.array([float(reply.num_examples) for reply in rows]),
        losses=np.array([float(reply.loss) for reply in rows]),
        local_losses=np.array([float(reply.local_loss) for reply in rows]),
        buffers=buffers.reshape(-1, num_buffers) if num_buffers else None,
        failures=tuple(failures),
    )


def admit(
    cohort: Cohort,
    params: Vector,
    sampled: tuple[int, ...],
    num_buffers: int = 0,
    *,
    gradients: bool = False,
) -> tuple[Cohort, tuple[Failure, ...]]:
    """Split a cohort into what a rule may use and what is quarantined for the round, with reasons.

    Args:
        cohort: What came back.
        params: The model that was sent, of shape `(d + num_buffers,)`.
        sampled: The clients that were asked.
        num_buffers: How many entries at the tail of the model are float buffers.
        gradients: Whether a row must also bring its gradient and its loss at w_t.

    Returns:
        The cohort of the good rows, and all failures: those the cohort brought and those found
        here.
    """
    ids, m = cohort.client_ids, len(cohort.client_ids)
    misfit = _misfit(cohort, params, num_buffers)
    if gradients:
        misfit = misfit or _misfit_of_gradients(cohort, params, num_buffers)
    faults = [None] * m if misfit else _faults(cohort)
    strangers = _strangers(ids, sampled)
    reasons = [
        misfit or strangers[row] or faults[row] or _bad_claims(cohort, row) for row in range(m)
    ]
    found = tuple(
        Failure(client_id=client_id, reason=reason)
        for client_id, reason in zip(ids, reasons, strict=True)
        if reason is not None
    )
    if misfit is None:
        good = cohort.select(np.array([reason is None for reason in reasons], dtype=bool))
    else:
        good = collect((), params, (), ("", 0))
    heard = {*ids, *(failure.client_id for failure in cohort.failures)}
    silent = tuple(Failure(client_id=i, reason="no reply") for i in sampled if i not in heard)
    return good, cohort.failures + found + silent


def _misfit(cohort: Cohort, params: Vector, num_buffers: int) -> str | None:
    """Say why no row of the cohort can be about this model."""
    d, updates, buffers = len(params) - num_buffers, cohort.updates, cohort.buffers
    if updates.num_rows and (updates.num_columns != d or updates.dtype != params.dtype):
        return (
            f"updates are {updates.dtype} of length {updates.num_columns}, "
            f"not {params.dtype} of length {d}"
        )
    width = 0 if buffers is None else buffers.shape[1]
    return None if width == num_buffers else f"{width} buffers came back, not {num_buffers}"


def _misfit_of_gradients(cohort: Cohort, params: Vector, num_buffers: int) -> str | None:
    """Say why no row of the cohort can be protected."""
    if cohort.gradients is None or cohort.before is None:
        return "no gradient and loss at the received model came back"
    d, width = len(params) - num_buffers, cohort.gradients.num_columns
    if cohort.gradients.num_rows and width != d:
        return f"gradients are of length {width}, not {d}"
    return None


def _faults(cohort: Cohort) -> list[str | None]:
    """Return for each row why its numbers cannot be used."""
    faults = cohort.updates.faults()
    if cohort.gradients is not None and cohort.before is not None:
        pairs = zip(cohort.gradients.faults(), cohort.before, strict=True)
        more = [
            (reason and reason.replace("the update", "the gradient")) or _bad_loss(float(before))
            for reason, before in pairs
        ]
        faults = [fault or other for fault, other in zip(faults, more, strict=True)]
    if cohort.buffers is None:
        return faults
    return [
        fault or (None if np.isfinite(moved).all() else "NaN or Inf in the buffers")
        for fault, moved in zip(faults, cohort.buffers, strict=True)
    ]


def _strangers(ids: tuple[int, ...], sampled: tuple[int, ...]) -> list[str | None]:
    """Return for each row why it should not be there at all."""
    asked, heard = frozenset(sampled), set[int]()
    reasons: list[str | None] = []
    for client_id in ids:
        again = "duplicate reply" if client_id in heard else None
        reasons.append(again if client_id in asked else "not asked in this round")
        heard.add(client_id)
    return reasons


def _bad_claims(cohort: Cohort, row: int) -> str | None:
    count = float(cohort.num_examples[row])
    if not 0.0 < count <= MAX_EXAMPLES:
        return f"num_examples is {count:g}"
    return _bad_loss(float(cohort.losses[row]))


def _bad_loss(loss: float) -> str | None:
    return None if np.isfinite(loss) and loss >= 0.0 else f"loss is {loss:g}"


def _unreadable(reply: object) -> str | None:
    if not isinstance(reply, Reply):
        return "not a reply"
    return (
        not_text("run", reply.run)
        or not_whole("client_id", reply.client_id)
        or not_whole("round_num", reply.round_num)
    )


def _misplaced(
    reply: Reply, first: dict[int, Reply], asked: frozenset[int], key: tuple[str, int]
) -> str | None:
    if (reply.run, reply.round_num) != key:
        return f"reply to round {reply.round_num} of run {reply.run!r}, not {key[1]} of {key[0]!r}"
    if reply.client_id not in asked:
        return "not asked in this round"
    return "duplicate reply" if reply.client_id in first else None


def _malformed(reply: Reply, params: Vector, num_buffers: int) -> str | None:
    d = len(params) - num_buffers
    return (
        not_an_array("update", reply.update, (d,), params.dtype)
        or (
            not_an_array("buffers", reply.buffers, (num_buffers,), params.dtype)
            if num_buffers
            else None
        )
        or not_real("num_examples", reply.num_examples)
        or not_real("loss", reply.loss)
        or not_real("local_loss", reply.local_loss)
    )


def _sender(client_id: Any) -> int:
    return -1 if not_whole("client_id", client_id) else int(client_id)
