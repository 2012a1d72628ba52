"""What an audit of a run has found: every claim, with the numbers that bear it out or do not."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 (part of a public type)
from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from fedmgda._errors import FedmgdaError
from fedmgda._text import counted
from fedmgda.experiments._folder_files import CHECKPOINTS, ENVIRONMENT, LOCK, SPEC
from fedmgda.experiments._records import TIMINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["FAULTS", "NOT_COVERED", "Audit", "Finding", "Tally", "verdict_of"]

Standing: TypeAlias = Literal["proved", "wrong", "not checkable"]

FAULTS = (
    FedmgdaError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, MemoryError,
)  # fmt: skip
"""What it may end in to take for numbers what nobody vouches for."""

NOT_PROVED = (
    "that clients told the truth",
    "that its writer did not make all of it anew, for it bears no signature",
)
"""What no look at a run folder can prove."""

NOT_COVERED = (
    ENVIRONMENT, TIMINGS, f"{CHECKPOINTS}/", LOCK, f"[engine] and [records] in {SPEC}",
)  # fmt: skip
"""What lies in every run folder and is no result."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One claim that a run folder makes, and what became of it.

    Attributes:
        claim: What is claimed, in a few words.
        standing: "proved", "wrong", or "not checkable" where the folder does not hold what the
            check needs.
        by: By what it is proved, why it is wrong, or what is missing.
        place: Of what is wrong: the file, and the line of a record.
        checked: How many things were looked at: files, lines, rounds.
        numbers: The numbers behind it, by name.
    """

    claim: str
    standing: Standing
    by: str
    place: str | None = None
    checked: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found in a run folder.

    Attributes:
        path: The folder.
        verified: Whether nothing is wrong.
        verdict: The last word, a sentence.
        state: "finished", or "unfinished" for a run that is going on or was stopped.
        format: Of the folder; None where that cannot be read.
        rounds: How many rounds its record holds.
        findings: Every claim, in the order in which it was looked at.
        not_proved: What no look at a folder can prove.
        not_covered: What lies in the folder and is no result, so that nothing is said of it.
    """

    path: str
    verified: bool
    verdict: str
    state: Literal["finished", "unfinished"]
    format: int | None
    rounds: int
    findings: tuple[Finding, ...]
    not_proved: tuple[str, ...] = NOT_PROVED
    not_covered: tuple[str, ...] = NOT_COVERED

    def of(self, standing: Standing) -> tuple[Finding, ...]:
        """Return the findings of one kind."""
        return tuple(finding for finding in self.findings if finding.standing == standing)


@final
class Tally:
    """A claim about many rounds: in how many it holds, the worst numbers, the first that is wrong.

    Attributes:
        claim: What is claimed.
        numbers: The largest of every number that was measured.
    """

    def __init__(self, claim: str) -> None:
        self.claim = claim
        self.numbers: dict[str, float] = {}
        self._checked: set[str] = set()
        self._wrong: dict[str, str] = {}
        self._missing: dict[str, set[str]] = {}

    def check(self, holds: object, place: str, otherwise: str) -> bool:
        """Look at one thing; say where and why it is wrong if it does not hold."""
        self._checked.add(place)
        if not holds:
            self._wrong.setdefault(place, otherwise)
        return bool(holds)

    def miss(self, place: str, why: str) -> None:
        """Say what cannot be looked at somewhere, and why."""
        self._missing.setdefault(why, set()).add(place)

    def measure(self, name: str, value: float) -> None:
        """Keep a number if it is the largest of its name."""
        if not math.isnan(value):
            self.numbers[name] = max(float(value), self.numbers.get(name, -math.inf))

    def findings(self, *texts: str) -> Iterator[Finding]:
        """Yield what was found: what is proved or wrong, and apart from it what is missing.

        Args:
            texts: What proves it; `{checked}` stands for in how many rounds, `{name}` for a number.
                The first whose numbers were all measured is taken: the last needs none.
        """
        if self._wrong:
            place, why = next(iter(self._wrong.items()))
            more = f" (and in {len(self._wrong) - 1} more)" if len(self._wrong) > 1 else ""
            yield self._finding("wrong", why + more, place)
        elif self._checked:
            known = {name: f"{value:.0e}" if value else "0" for name, value in self.numbers.items()}
            missing = set[str]().union(*self._missing.values())
            known["checked"] = str(len(self._checked - missing) or len(self._checked))
            by = next(text for text in texts if _names_in(text) <= known.keys())
            yield self._finding("proved", by.format_map(known))
        for why, places in self._missing.items():
            by = f"{why} ({counted(len(places), 'line')})"
            yield Finding(claim=self.claim, standing="not checkable", by=by, checked=len(places))

    def _finding(self, standing: Standing, by: str, place: str | None = None) -> Finding:
        return Finding(
            claim=self.claim,
            standing=standing,
            by=by,
            place=place,
            checked=len(self._checked),
            numbers=self.numbers,
        )


def _names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def verdict_of(findings: Sequence[Finding], *, finished: bool, rounds: int) -> str:
    """Return the last word on some findings.

    >>> found = Finding(claim="λ", standing="wrong", by="it is not feasible", place="line 7")
    >>> verdict_of([found, found], finished=True, rounds=9)
    'NOT verified: line 7: it is not feasible; 1 more claim is wrong.'
    >>> verdict_of([], finished=False, rounds=9)
    'verified so far: 9 rounds of a run that is not finished, 0 claims proved.'
    """
    wrong, proved, open_ones = (
        [finding for finding in findings if finding.standing == standing]
        for standing in ("wrong", "proved", "not checkable")
    )
    if wrong:
        number = len(wrong) - 1
        more = f"; {counted(number, 'more claim')} {'is' if number == 1 else 'are'} wrong"
        return f"NOT verified: {wrong[0].place}: {wrong[0].by}{more if number else ''}."
    head = f"verified: {counted(rounds, 'round')}"
    if not finished:
        head = f"verified so far: {counted(rounds, 'round')} of a run that is not finished"
    tail = f", {len(open_ones)} not checkable" if open_ones else ""
    return f"{head}, {counted(len(proved), 'claim')} proved{tail}."
