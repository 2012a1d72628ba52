"""The answers that stand first, in plain sentences with numbers; the judges are elsewhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._text import counted, listed
from fedmgda.experiments import in_seeds, of_clients
from fedmgda.metrics import FEW_ROWS
from fedmgda.report.page._facts import LEARNED, SO_FAR, mood_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedmgda.report.page._facts import GroupFacts
    from fedmgda.report.page._joined import Joined, Pair

__all__ = ["Answer", "answers", "protected_losses"]

_MANY = 8  # runs that are named in a sentence


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question and its answer.

    Attributes:
        question: In a few words.
        answer: In a sentence or two, with numbers.
        mood: "good", "warn", "bad" or "quiet".
    """

    question: str
    answer: str
    mood: str = "quiet"


def answers(facts: Sequence[GroupFacts], joined: Joined) -> list[Answer]:
    """Return what became of the runs: learning, who pays, who was sacrificed, what did nothing."""
    federated = [one for one in facts if not one.baseline]
    found = [_learned(federated), *_worse_off(joined), _sacrificed(federated), _idle(federated)]
    few = max((one.few for one in facts), default=0)
    if few:
        found.append(
            Answer(
                question="How sure is it?",
                answer=f"{counted(few, 'user')} {'has' if few == 1 else 'have'} fewer than "
                f"{FEW_ROWS} test rows in a run: too few to judge singly. Mind the intervals.",
                mood="warn",
            )
        )
    return found


def _learned(facts: Sequence[GroupFacts]) -> Answer:
    outcomes = Counter[str]()
    for one in facts:
        outcomes.update(one.outcomes)
    total, question = sum(outcomes.values()), "Did it learn?"
    waiting = sum(len(one.seeds) for one in facts) - total
    broken = sum(one.broken for one in facts)
    soon = "" if broken else " yet"
    rest = f" {counted(waiting, 'run')} cannot be judged{soon}." if waiting else ""
    rest += f" {_damaged(broken)}" if broken else ""
    if not total:
        return Answer(question=question, answer=f"Not known{soon}.{rest}")
    learned, early = outcomes[LEARNED], outcomes[LEARNED + SO_FAR]
    if learned + early == total:
        told = {1: "Yes", 2: "Yes, both runs"}.get(total, f"Yes: all {total} runs learned")
        if early:
            told += ", so far" if early == total else f", {early} of them so far"
        mood = "warn" if broken else "quiet" if early else "good"
        return Answer(question=question, answer=f"{told}.{rest}", mood=mood)
    others = [
        f"{one.name} {outcome}" + (f" ({count} of {len(one.seeds)} seeds)" if count > 1 else "")
        for one in facts
        for outcome, count in one.outcomes.items()
        if outcome.removesuffix(SO_FAR) != LEARNED
    ]
    told = f"{learned + early} of {counted(total, 'run')} learned; {listed(others, _MANY)}."
    if total == 1:
        told = f"{next(iter(outcomes)).capitalize()}."
    moods = {mood_of(outcome) for outcome in outcomes}
    mood = "bad" if "bad" in moods else "warn" if "warn" in moods else "quiet"
    return Answer(question=question, answer=told + rest, mood=mood)


def _worse_off(joined: Joined) -> Iterator[Answer]:
    """Yield for each thing that runs are held against how many users are worse off."""
    if not joined.pairs:
        yield Answer(
            question="Is anyone worse off?",
            answer=f"Not known: {' '.join(joined.why_not)[:1].lower()}"
            f"{' '.join(joined.why_not)[1:]}",
        )
    for theirs in dict.fromkeys(pair.theirs for pair in joined.pairs):
        pairs = [pair for pair in joined.pairs if pair.theirs == theirs]
        more = [p for p in pairs if p.against.worse > p.against.worse_by_chance_95]
        lower = any(_many_lower(pair) for pair in pairs)
        told = listed((_worse(pair) for pair in pairs), _MANY)
        known = pairs[0].known_chance
        yield Answer(
            question=f"Worse off than {_than(theirs)}?",
            answer=f"{told}." if known else f"{told}; no test rows were kept, it may be chance.",
            mood="bad" if more else "warn" if lower else "good" if known else "quiet",
        )


def _than(theirs: str) -> str:
    return theirs if theirs in {"alone", "a constant"} else f"under {theirs}"


def _worse(pair: Pair) -> str:
    against = pair.against
    if not pair.known_chance:
        return f"{of_clients(against.losing, against, 'user')} under {pair.ours} score lower"
    chance = against.worse_by_chance
    # Many who lose a little are a finding, though nobody's own rows suffice to say so.
    at_all = f"; {in_seeds(against.losing)} score lower at all, by chance "
    more = f"{at_all}{against.losing_by_chance:.0f}" if _many_lower(pair) else ""
    return (
        f"{of_clients(against.worse, against, 'user')} under {pair.ours} "
        f"(chance alone would make {chance:.{1 if 0.05 <= chance < 2 else 0}f}{more})"
    )


def _many_lower(pair: Pair) -> bool:
    return pair.against.losing > pair.against.losing_by_chance_95


def protected_losses(one: GroupFacts) -> str:
    """Say how many losses rose in protected steps, as participants said them and as measured."""
    told = f"{one.said_rose or 0:,} of {one.said or 0:,} as the participants said them"
    return told + (f", {one.rose or 0:,} of {one.measured:,} as measured" if one.measured else "")


def _sacrificed(facts: Sequence[GroupFacts]) -> Answer:
    question = "Was anyone sacrificed?"
    told, better, kept, bad = list[str](), list[str](), list[str](), False
    for one in facts:
        if not one.rounds:
            continue
        if one.said is not None or one.held is not None:  # the direction was only proposed
            if one.said:
                kept.append(f"{protected_losses(one)} under {one.name}")
                bad |= bool(one.said_rose or one.rose)
        else:
            told.append(f"{one.against:,} of {one.rounds:,} under {one.name}")
            bad |= bool(one.against)
            if one.improved is not None:
                better.append(f"{_share(one.improved)} % under {one.name}")
    sentences = [
        f"{lead}: {listed(those, _MANY)}."
        for lead, those in (
            ("Rounds that went against a participant, to first order", told),
            ("Participants whose own training loss a round did not raise", better),
            ("Losses that a protected step raised", kept),
        )
        if those
    ]
    if not sentences:
        return Answer(question=question, answer=_no_rounds(facts))
    unread = _unread(facts)
    rose = any(one.improved is not None and one.improved < 100 for one in facts)
    mood = "bad" if bad else "warn" if unread or rose else "good"
    return Answer(question=question, answer=" ".join(sentences) + unread, mood=mood)


def _share(percent: float) -> str:
    """Return a share of which nearly all is not all."""
    return f"{percent if percent == 100 else min(percent, 99.9):.3g}"


def _unread(facts: Sequence[GroupFacts]) -> str:
    """Say of which runs nothing is known, to be put behind what is known of others."""
    none = [one.name for one in facts if one.unread and not one.rounds]
    some = [one.name for one in facts if one.unread and one.rounds]
    told = f" Not known of {listed(none, _MANY)}: no round could be read." if none else ""
    more = f" Not known of all rounds of {listed(some, _MANY)}: some cannot be read."
    return told + (more if some else "")


def _no_rounds(facts: Sequence[GroupFacts]) -> str:
    if any(one.unread for one in facts):
        return "Not known: no round could be read."
    return "Not known: no round has been recorded."


def _damaged(folders: int) -> str:
    return f"{counted(folders, 'folder')} {'is' if folders == 1 else 'are'} damaged, see above."


def _idle(facts: Sequence[GroupFacts]) -> Answer:
    question = "Did rounds do nothing?"
    told = []
    for one in facts:
        kinds = [
            f"{count:,} {what}"
            for count, what in (
                (one.held, "held"),
                (one.stalled, "stalled"),
                (one.failed, "failed"),
            )
            if count
        ]
        if kinds:
            told.append(f"{', '.join(kinds)} of {one.rounds:,} under {one.name}")
    if not any(one.rounds for one in facts):
        return Answer(question=question, answer=_no_rounds(facts))
    lost = sum(one.quarantined for one in facts)
    tail = f" {lost:,} replies were quarantined." if lost else ""
    tail += _unread(facts)
    if not told:
        answer = f"No round was held, stalled or failed.{tail}"
        return Answer(question=question, answer=answer, mood="warn" if tail else "good")
    return Answer(question=question, answer=f"{listed(told, _MANY)}.{tail}", mood="warn")
