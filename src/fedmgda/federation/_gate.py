"""The gate: nothing reaches a rule before it was looked at here, and nothing is lost silently."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._types import Cohort, Failure

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
        run: Which run it answers; replies to other runs are ignored.
    """

    client_id: int
    round_num: int
    update: Any
    num_examples: Any
    loss: Any
    run: str = ""


def collect(
    replies: Iterable[Reply], params: Vector, sampled: tuple[int, ...], key: tuple[str, int]
) -> Cohort:
    """Make a cohort of replies that arrived one by one, over whatever wire.

    A reply counts once, keyed by run, round and client. What cannot be a row of the cohort, by its
    key, its shape or its type, becomes a failure with its reason.

    Args:
        replies: The replies in any order; rows come out in the order of `sampled`.
        params: The model that was sent, of shape `(d,)`: an update must match it exactly.
        sampled: The clients that were asked.
        key: The run and the round that is being collected.
    """
    first: dict[int, Reply] = {}
    failures = []
    for reply in replies:
        reason = _misplaced(reply, first, sampled, key) or _malformed(reply, params)
        if reason is None:
            first[reply.client_id] = reply
        else:
            failures.append(Failure(client_id=reply.client_id, reason=reason))
    heard = first.keys() | {failure.client_id for failure in failures}
    failures += [Failure(client_id=i, reason="no reply") for i in sampled if i not in heard]
    rows = [first[i] for i in sampled if i in first]
    return Cohort(
        client_ids=tuple(reply.client_id for reply in rows),
        updates=np.array([reply.update for reply in rows], params.dtype).reshape(-1, len(params)),
        num_examples=np.array([reply.num_examples for reply in rows], dtype=np.float64),
        losses=np.array([reply.loss for reply in rows], dtype=np.float64),
        failures=tuple(failures),
    )


def admit(
    cohort: Cohort, params: Vector, sampled: tuple[int, ...]
) -> tuple[Cohort, tuple[Failure, ...]]:
    """Split a cohort into what a rule may use and what is quarantined for the round, with reasons.

    Returns:
        The cohort of the good rows, without failures, and all failures: those the cohort brought
        and those found here.
    """
    m = len(cohort.client_ids)
    if cohort.updates.shape != (m, len(params)) or cohort.updates.dtype != params.dtype:
        reason = (
            f"updates are {cohort.updates.dtype} of shape {cohort.updates.shape}, "
            f"not {params.dtype} of shape {(m, len(params))}"
        )
        reasons: list[str | None] = [reason] * m
    else:
        reasons = [_refusal(cohort, row, sampled) for row in range(m)]
    found = tuple(
        Failure(client_id=client, reason=reason)
        for client, reason in zip(cohort.client_ids, reasons, strict=True)
        if reason is not None
    )
    good = cohort.select(np.array([reason is None for reason in reasons], dtype=bool))
    return good, cohort.failures + found


def _refusal(cohort: Cohort, row: int, sampled: tuple[int, ...]) -> str | None:
    client = cohort.client_ids[row]
    if client not in sampled:
        return "not asked in this round"
    if client in cohort.client_ids[:row]:
        return "duplicate reply"
    # A sum is finite only if all its terms are, and costs one pass without a temporary; a finite
    # row whose sum overflows is looked at element by element.
    update = cohort.updates[row]
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(update.sum())) or bool(np.isfinite(update).all())
    if not finite:
        return f"{_not_finite(update)} in the update"
    count, loss = float(cohort.num_examples[row]), float(cohort.losses[row])
    if not 0.0 < count <= MAX_EXAMPLES:
        return f"num_examples is {count:g}"
    if not (np.isfinite(loss) and loss >= 0.0):
        return f"loss is {loss:g}"
    return None


def _not_finite(update: Vector) -> str:
    counts = Counter({"NaN": int(np.isnan(update).sum()), "Inf": int(np.isinf(update).sum())})
    kind, number = counts.most_common(1)[0]
    return f"{number} {kind}"


def _misplaced(
    reply: Reply, first: dict[int, Reply], sampled: tuple[int, ...], key: tuple[str, int]
) -> str | None:
    if (reply.run, reply.round_num) != key:
        return f"reply to round {reply.round_num} of run {reply.run!r}, not {key[1]} of {key[0]!r}"
    if reply.client_id not in sampled:
        return "not asked in this round"
    return "duplicate reply" if reply.client_id in first else None


def _malformed(reply: Reply, params: Vector) -> str | None:
    update = reply.update
    if not isinstance(update, np.ndarray):
        return f"update is a {type(update).__name__}, not an array"
    if update.shape != params.shape:
        return f"update has shape {update.shape}, the model {params.shape}"
    if update.dtype != params.dtype:
        return f"update is {update.dtype}, the model {params.dtype}"
    for name, value in (("num_examples", reply.num_examples), ("loss", reply.loss)):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            return f"{name} is a {type(value).__name__}, not a number"
    return None
