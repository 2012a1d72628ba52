"""The gate: nothing reaches a rule before it was looked at here, and nothing is lost silently."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._types import Cohort, Failure
from fedmgda.federation._forms import not_real, not_text, not_whole, unlike

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
    key, its shape or its type, becomes a failure with its reason, of client -1 where it does not
    say who sent it.

    Args:
        replies: The replies in any order; rows come out in the order of `sampled`.
        params: The model that was sent, of shape `(d,)`: an update must match it exactly.
        sampled: The clients that were asked.
        key: The run and the round that is being collected.
    """
    first: dict[int, Reply] = {}
    failures = []
    for reply in replies:
        reason = (
            _unreadable(reply)
            or _misplaced(reply, first, sampled, key)
            or _malformed(reply, params)
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
    return Cohort(
        client_ids=clients,
        updates=np.array([reply.update for reply in rows], params.dtype).reshape(-1, len(params)),
        num_examples=np.array([float(reply.num_examples) for reply in rows]),
        losses=np.array([float(reply.loss) for reply in rows]),
        failures=tuple(failures),
    )


def admit(
    cohort: Cohort, params: Vector, sampled: tuple[int, ...]
) -> tuple[Cohort, tuple[Failure, ...]]:
    """Split a cohort into what a rule may use and what is quarantined for the round, with reasons.

    Returns:
        The cohort of the good rows, and all failures: those the cohort brought and those found
        here.
    """
    m, d = len(cohort.client_ids), len(params)
    unusable = (
        unlike("updates", cohort.updates, (m, d), params.dtype)
        or unlike("num_examples", cohort.num_examples, (m,))
        or unlike("losses", cohort.losses, (m,))
        or (cohort.local_losses is not None and unlike("local_losses", cohort.local_losses, (m,)))
        or None
    )
    senders = [_sender(client) for client in cohort.client_ids]
    reasons = [unusable or _refusal(cohort, senders, row, sampled) for row in range(m)]
    found = tuple(
        Failure(client_id=sender, reason=reason)
        for sender, reason in zip(senders, reasons, strict=True)
        if reason is not None
    )
    if unusable is None:
        good = cohort.select(np.array([reason is None for reason in reasons], dtype=bool))
    else:
        good = collect((), params, (), ("", 0))
    return good, cohort.failures + found


def _refusal(cohort: Cohort, senders: list[int], row: int, sampled: tuple[int, ...]) -> str | None:
    reason = not_whole("client_id", cohort.client_ids[row])
    if reason is None and senders[row] not in sampled:
        reason = "not asked in this round"
    if reason is None and senders[row] in senders[:row]:
        reason = "duplicate reply"
    return (
        reason
        or _bad_update(cohort.updates[row])
        or _bad_claims(float(cohort.num_examples[row]), float(cohort.losses[row]))
    )


def _bad_update(update: Vector) -> str | None:
    # A square is finite only if all entries are, and costs one pass without a temporary; only
    # where it is not are they looked at one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.vdot(update, update)
    if np.isfinite(square):
        return None
    if not np.isfinite(update).all():
        counts = Counter({"NaN": int(np.isnan(update).sum()), "Inf": int(np.isinf(update).sum())})
        kind, number = counts.most_common(1)[0]
        return f"{number} {kind} in the update"
    # The Gram matrix is in float64, which holds the square of every float32.
    return "the square of the update is beyond float64" if update.dtype == np.float64 else None


def _bad_claims(count: float, loss: float) -> str | None:
    if not 0.0 < count <= MAX_EXAMPLES:
        return f"num_examples is {count:g}"
    if not (np.isfinite(loss) and loss >= 0.0):
        return f"loss is {loss:g}"
    return None


def _unreadable(reply: object) -> str | None:
    if not isinstance(reply, Reply):
        return "not a reply"
    return (
        not_text("run", reply.run)
        or not_whole("client_id", reply.client_id)
        or not_whole("round_num", reply.round_num)
    )


def _misplaced(
    reply: Reply, first: dict[int, Reply], sampled: tuple[int, ...], key: tuple[str, int]
) -> str | None:
    if (reply.run, reply.round_num) != key:
        return f"reply to round {reply.round_num} of run {reply.run!r}, not {key[1]} of {key[0]!r}"
    if reply.client_id not in sampled:
        return "not asked in this round"
    return "duplicate reply" if reply.client_id in first else None


def _malformed(reply: Reply, params: Vector) -> str | None:
    return (
        unlike("update", reply.update, params.shape, params.dtype)
        or not_real("num_examples", reply.num_examples)
        or not_real("loss", reply.loss)
    )


def _sender(client_id: Any) -> int:
    return -1 if not_whole("client_id", client_id) else int(client_id)
