"""Protection in words: what was promised and kept, how often, and what it does not say."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fedmgda._text import counted, listed
from fedmgda.experiments import _sentences as say
from fedmgda.experiments._held import MOSTLY, STATIONARY, why_held
from fedmgda.experiments._protection import overridden, protection_summary
from fedmgda.experiments._spec import ProtectSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.experiments._evidence import Evidence
    from fedmgda.experiments._protection import ProtectionSummary
    from fedmgda.experiments._verdict import HeldRounds, Verdict

__all__ = [
    "about_conflict",
    "about_held",
    "about_promise",
    "about_protected_steps",
    "held_headline",
]

_NAMED = 3  # clients at most that a sentence names


def held_headline(
    evidence: Evidence, held: HeldRounds | None, cures: tuple[str, ...]
) -> str | None:
    """Return the headline of a run that held most of its rounds; None of any other."""
    if held is None or held.rounds < MOSTLY * len(evidence.rounds):
        return None
    return say.STOOD_STILL_HELD.format(**_held_facts(evidence, held, cures))


def about_promise(evidence: Evidence) -> Iterator[str]:
    """Yield why a run ended before its last round, what it kept in every one, and to whom."""
    found = protection_summary(evidence.spec, evidence.rounds)
    if found is None:
        return
    rounds, asked = len(evidence.rounds), evidence.spec.rounds
    if found.ended_stationary and rounds < asked:
        yield say.ENDED.format(last=rounds, rounds=asked, held=found.held_at_the_end)
    facts = {"rounds": rounds, "made": _made(evidence, found), "scope": say.SCOPE}
    protect = evidence.spec.server.protect
    if found.rounds_overridden and isinstance(protect, ProtectSpec):
        worse = Counter(client for row in evidence.rounds for client in overridden(row))
        yield say.OVERRIDDEN.format(
            **facts,
            over=counted(found.rounds_overridden, "round"),
            allow=counted(protect.allow, "participant"),
            names=_most_often(evidence, worse),
        )
    else:
        yield say.PROTECTED.format(**facts)
    if evidence.spec.attack.name == "none" or not found.rounds_with_step:
        return
    known = found.participations_measured
    yield (
        say.AS_MEASURED.format(rose=found.rose_as_measured, known=known)
        if known
        else say.NOT_MEASURED
    )


def about_held(
    evidence: Evidence, verdict: Verdict, cures: tuple[str, ...], few: float
) -> Iterator[str]:
    """Yield why rounds were held, if they were more than a few, and who stood in the way.

    Args:
        evidence: The records.
        verdict: What they say.
        cures: What to change.
        few: The share of rounds below which that is an incident.
    """
    held = verdict.held
    if held is None or held.rounds < few * len(evidence.rounds):
        return
    if held_headline(evidence, held, cures) is None:
        yield say.HELD.format(**_held_facts(evidence, held, cures))
    if held.why == STATIONARY and held.looked_at is not None:
        yield from about_conflict(evidence, held.looked_at, held.blocking, held.conflict)


def about_conflict(
    evidence: Evidence, looked_at: int, blocking: tuple[int, ...], conflict: tuple[int, ...]
) -> Iterator[str]:
    """Yield who of a round had no common direction with whom."""
    if blocking:
        form = say.BLOCKED_BY_ONE if len(blocking) == 1 else say.BLOCKED_BY_SEVERAL
        yield form.format(round=looked_at, names=evidence.listed(blocking))
    elif conflict:
        yield say.CONFLICT.format(round=looked_at, names=evidence.listed(conflict))


def about_protected_steps(evidence: Evidence) -> Iterator[str]:
    """Yield what became of the steps that were made."""
    found = protection_summary(evidence.spec, evidence.rounds)
    if found is None or found.mean_scale is None or found.least_scale is None:
        return
    turned = found.rounds_turned
    form = say.FULL_STEPS if found.least_scale == 1.0 else say.STEPS
    yield form.format(
        steps=counted(found.rounds_with_step, "step"),
        turned=f"{turned} was" if turned == 1 else f"{turned} were",
        mean=f"{found.mean_scale:.2g}",
        least=_share(found.least_scale),
        short=f"{found.share_of_short_steps:.2g}",
    )


def _held_facts(evidence: Evidence, held: HeldRounds, cures: tuple[str, ...]) -> dict[str, Any]:
    names = evidence.listed(held.opposing[:3]) if held.opposing else "somebody"
    why = say.WHY_HELD[held.why].format(participants=held.participants, names=names)
    several = len(_reasons(evidence)) > 1
    return {
        "held": held.rounds,
        "rounds": len(evidence.rounds),
        "why": f"most often as {why}" if several else f"as {why}",
        "cure": say.cured(cures, protected=True),
    }


def _most_often(evidence: Evidence, counts: Counter[int]) -> str:
    """Return the clients with the largest counts, three of them unless the fourth has as many."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    first, rest = ordered[:_NAMED], ordered[_NAMED:]
    if rest and rest[0][1] < first[0][1]:
        first = [(client, count) for client, count in first if count > rest[0][1]]
    told = [f"{evidence.name(client)} ({count})" for client, count in first]
    return listed(told, _NAMED, last=" and ")


def _made(evidence: Evidence, found: ProtectionSummary) -> str:
    """Say how many steps were made and how many rounds held, and why."""
    parts = [counted(found.rounds_with_step, "step")]
    if empty := sum(bool(row.stalled and not row.held) for row in evidence.rounds):
        parts.append(say.EMPTY_STEPS.format(count=empty))
    if not found.rounds_held:
        parts.append("no round held")
    else:
        reasons = _reasons(evidence)
        several = len(reasons) > 1
        told = [
            say.WHY_HELD_IN_SHORT[why] + (f" in {count}" if several else "")
            for why, count in reasons.most_common()
        ]
        parts.append(f"{counted(found.rounds_held, 'round')} held ({', '.join(told)})")
    if failed := sum(row.failed is not None for row in evidence.rounds):
        parts.append(f"{failed} failed")
    return ", ".join(parts)


def _reasons(evidence: Evidence) -> Counter[str]:
    return Counter(why_held(row) for row in evidence.rounds if row.held)


def _share(scale: float) -> str:
    """Write a power of two as people do: 1 or 1/8."""
    return "1" if scale == 1.0 else f"1/{1 / scale:.0f}"
