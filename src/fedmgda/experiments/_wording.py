"""A verdict in words: which sentences apply, and what stands in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.experiments import _sentences as say, _verdict as outcomes
from fedmgda.experiments._client_losses import FEW, tested
from fedmgda.experiments._client_names import known_ids
from fedmgda.experiments._evidence import average_accuracy, average_loss
from fedmgda.experiments._held import STALLED
from fedmgda.experiments._hints import is_attacked
from fedmgda.experiments._learned import MANY
from fedmgda.experiments._protection_wording import (
    about_conflict,
    about_held,
    about_promise,
    about_protected_steps,
    held_headline,
)
from fedmgda.metrics import ONE_SIDED
from fedmgda.values import value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.experiments._evidence import Evidence
    from fedmgda.experiments._verdict import Verdict

__all__ = ["FEW_STALLS", "headline", "sentences"]

FEW_STALLS = 0.2
"""The share of rounds below which stalls are an incident, not the trouble."""

_RISEN = 1.1  # times the lowest loss


def headline(evidence: Evidence, verdict: Verdict, users: int, cures: tuple[str, ...]) -> str:
    """Return the one sentence that must be read.

    Args:
        evidence: The records.
        verdict: What they say.
        users: How many clients the losses are averaged over.
        cures: What helps against stalls.
    """
    facts: dict[str, Any] = {"loss": say.number(verdict.loss), "users": users}
    facts["others"] = " and ".join(_other_losses(evidence, verdict))
    match verdict.outcome:
        case outcomes.NOT_TESTED:
            return say.NOT_TESTED
        case outcomes.LEARNED:
            return say.LEARNED.format(**facts)
        case outcomes.MAY_HAVE_LEARNED:
            return say.MAY_HAVE_LEARNED.format(**facts, rows=_test_rows(evidence, users))
        case outcomes.STOOD_STILL:
            return held_headline(evidence, verdict.held, cures) or say.STOOD_STILL.format(
                **_stall_facts(evidence, verdict, cures)
            )
    hint = verdict.hints[0]
    if verdict.outcome == outcomes.DIVERGED:
        facts["loss"] = say.number(average_loss(evidence.evaluations[-1]))
    facts |= {"hint": f"-c {hint}", "now": _present(evidence, hint)}
    form = say.DIVERGED if verdict.outcome == outcomes.DIVERGED else say.NOT_LEARNED
    if form == say.DIVERGED and is_attacked(evidence.spec):
        form = say.DIVERGED_ATTACKED
        attackers = known_ids(evidence.spec.attack.clients)
        facts |= {"attack": evidence.spec.attack.name, "attackers": evidence.listed(attackers)}
    return form.format(**facts)


def sentences(
    evidence: Evidence, verdict: Verdict, users: int, cures: tuple[str, ...]
) -> Iterator[str]:
    """Yield what else should be known, the most important first."""
    if users and held_headline(evidence, verdict.held, cures):
        others = " and ".join(_other_losses(evidence, verdict))
        yield say.LOSSES.format(loss=say.number(verdict.loss), users=users, others=others)
    yield from about_promise(evidence)
    yield from about_held(evidence, verdict, cures, FEW_STALLS)
    yield from _about_stalls(evidence, verdict, cures)
    yield from _about_the_loss(evidence, verdict)
    yield from _about_clients(evidence, verdict, users)
    yield from _about_steps(evidence)
    yield from _about_replies(evidence)
    if evidence.num_buffers:
        protected = evidence.spec.server.protect is not None
        yield say.buffers(evidence.num_buffers, protected=protected)


def _other_losses(evidence: Evidence, verdict: Verdict) -> Iterator[str]:
    yield say.INITIAL.format(initial=say.number(verdict.initial_loss))
    if verdict.constant_loss is not None and evidence.predictions is not None:
        values = evidence.predictions.targets.dtype.kind == "f"
        what = "mean" if values else "shares of the classes"
        yield say.CONSTANT.format(constant=say.number(verdict.constant_loss), what=what)


def _test_rows(evidence: Evidence, users: int) -> str:
    row = evidence.judged
    honest = tested(row, known_ids(evidence.spec.attack.clients))
    sizes = zip(row.client_ids, row.num_examples, strict=True)
    rows = f"{sum(int(size) for client, size in sizes if client in honest)} test rows"
    return rows if users < MANY else f"{rows} of {users} clients"


def _present(evidence: Evidence, hint: str) -> str:
    """Return the value that the key of a hint has now."""
    *sections, key = hint.partition("=")[0].split(".")
    value: Any = evidence.spec
    for name in (*sections, key):
        value = getattr(value, name)
    if value is None or isinstance(value, str):
        return str(value or "not set")
    return f"{value_at(value, 1):g}"


def _stall_facts(evidence: Evidence, verdict: Verdict, cures: tuple[str, ...]) -> dict[str, Any]:
    assert verdict.stalls is not None  # noqa: S101 (asked for stalls only)
    return {
        "participants": verdict.stalls.participants,
        "stalled": verdict.stalls.rounds,
        "rounds": len(evidence.rounds),
        "cure": say.cured(cures),
    }


def _about_stalls(evidence: Evidence, verdict: Verdict, cures: tuple[str, ...]) -> Iterator[str]:
    stalls, held = verdict.stalls, verdict.held
    if stalls is None or (held is not None and held.why != STALLED):
        return
    if stalls.rounds < FEW_STALLS * len(evidence.rounds):
        if held is None:
            yield say.FEW_STALLED.format(stalled=stalls.rounds, rounds=len(evidence.rounds))
        return
    if verdict.outcome != outcomes.STOOD_STILL and held is None:
        yield say.STALLED.format(**_stall_facts(evidence, verdict, cures))
    if stalls.looked_at is not None:
        yield from about_conflict(evidence, stalls.looked_at, stalls.blocking, stalls.conflict)


def _about_the_loss(evidence: Evidence, verdict: Verdict) -> Iterator[str]:
    known = [x for x in (verdict.initial_loss, verdict.constant_loss) if x is not None]
    if evidence.judged.round_num < evidence.evaluations[-1].round_num:
        yield say.KEPT.format(round=evidence.judged.round_num, loss=say.number(verdict.loss))
    if verdict.loss is None:
        return
    if verdict.outcome == outcomes.LEARNED and known and verdict.loss > min(known):
        accuracy = f"{100 * average_accuracy(evidence.judged):.0f} %"
        yield say.OVERCONFIDENT.format(accuracy=accuracy)
    losses = {row.round_num: loss for row in evidence.evaluations if (loss := average_loss(row))}
    best = min(losses, key=lambda number: losses[number], default=0)
    if 0 < best < evidence.judged.round_num and verdict.loss > _RISEN * losses[best]:
        yield say.RISEN.format(
            round=best, best=say.number(losses[best]), loss=say.number(verdict.loss)
        )


def _about_clients(evidence: Evidence, verdict: Verdict, users: int) -> Iterator[str]:
    known = users - verdict.few_test_examples
    if evidence.predictions is not None and known and verdict.loss is not None:
        worse, below = verdict.worse_than_constant, verdict.worse_than_initial
        if worse:
            yield say.WORSE_THAN_CONSTANT.format(
                count=len(worse),
                known=known,
                names=evidence.listed(worse),
                chance=round(ONE_SIDED * known, 1),
            )
        if below:
            yield say.WORSE_THAN_INITIAL.format(
                count=len(below), known=known, names=evidence.listed(below)
            )
        what = [
            name
            for name, there in (
                ("with a constant", verdict.constant_loss is not None and not worse),
                ("before training", not below),
            )
            if there
        ]
        if what:
            yield say.NOBODY_WORSE.format(few=FEW, what=" or ".join(what))
    if verdict.few_test_examples:
        yield say.FEW_EXAMPLES.format(count=verdict.few_test_examples, users=users, few=FEW)


def _about_steps(evidence: Evidence) -> Iterator[str]:
    if any(row.protection is not None for row in evidence.rounds):
        yield from about_protected_steps(evidence)
        return  # the direction of the rule, which may go against some, was only a proposal
    against = Counter(client for row in evidence.rounds for client in row.sacrificed or ())
    improved = [row.improved for row in evidence.rounds if row.improved is not None]
    if against:
        yield say.SACRIFICED.format(
            rounds=sum(bool(row.sacrificed) for row in evidence.rounds),
            all=len(evidence.rounds),
            names=evidence.listed([client for client, _ in against.most_common(3)]),
        )
    elif improved and np.mean(improved) < 90.0:
        yield say.OVERSHOT.format(improved=f"{np.mean(improved):.0f} %")


def _about_replies(evidence: Evidence) -> Iterator[str]:
    failed = [row.failed for row in evidence.rounds if row.failed is not None]
    if failed:
        yield say.FAILED.format(count=len(failed), rounds=len(evidence.rounds), reason=failed[-1])
    bad = [failure for row in evidence.rounds for failure in row.quarantined]
    if bad:
        client, _ = Counter(failure.client_id for failure in bad).most_common(1)[0]
        reason = next(failure.reason for failure in bad if failure.client_id == client)
        yield say.QUARANTINED.format(count=len(bad), name=evidence.name(client), reason=reason)
