"""The rounds of a run, each held against the spec, the seed and its own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.attacks import BiasLoss, ScaleLoss
from fedmgda.experiments._audit import FAULTS, Tally
from fedmgda.experiments._recorded import RecordedUpdates
from fedmgda.experiments._records import ROUNDS
from fedmgda.experiments._verify_protected import ProtectionCheck
from fedmgda.experiments._verify_step import StepCheck, among
from fedmgda.federation import MedianNorm
from fedmgda.metrics import improved_participants
from fedmgda.values import Cohort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fedmgda._types import Indices, Vector
    from fedmgda.attacks import Attack
    from fedmgda.experiments._audit import Finding
    from fedmgda.experiments._rows import Gram, RoundRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._verify_step import Precision
    from fedmgda.federation import Sampler, Schedule
    from fedmgda.rules import Rule

__all__ = ["RunFacts", "check_rounds"]

_SAME_LOSS = 1e-6  # of one loss that was measured twice
_SAME_STEP = 1e-12


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunFacts:
    """What rounds are held against.

    Attributes:
        spec: The spec as it is carried out, its clients by number.
        num_clients: How many clients there are.
        train_sizes: How many training examples each has; None where rounds do not tell of them.
        malicious: The clients that attack; None where nobody knows them by number.
        rule: The rule; None where it cannot be built.
        no_rule: Why not, in a few words.
        sampler: Who takes part; None where it cannot be told.
        no_sampler: Why not.
        schedule: The server's step.
        precision: How exact the numbers are.
        gram: From a round to what was kept of its Gram matrices, that of the updates and that of
            the unit gradients; raises a ValueError.
        attack: What attackers do; None without an attack, and where it is code of its own.
    """

    spec: Spec
    num_clients: int
    train_sizes: Indices | None
    malicious: tuple[int, ...] | None
    rule: Rule | None
    no_rule: str
    sampler: Sampler | None
    no_sampler: str
    schedule: Schedule
    precision: Precision
    gram: Callable[[RoundRow], tuple[Gram | None, Gram | None]]
    attack: Attack | None


def check_rounds(facts: RunFacts, rows: Sequence[RoundRow]) -> Iterator[Finding]:
    """Yield what is found in the rounds of a run."""
    check = _RoundCheck(facts)
    for number, row in enumerate(rows, 1):
        check.look_at(f"{ROUNDS}, line {number}", row)
    yield from check.findings()


@final
class _RoundCheck:
    """The claims of rounds, and what the last one said."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self._drawn = Tally("who took part, η_t")
        self._improved = Tally("improved")
        self._steps = StepCheck(facts.rule, facts.no_rule, facts.num_clients, facts.precision)
        self._protection = ProtectionCheck(facts.spec, facts.malicious, facts.precision)
        self._least: float | None = None  # of the shares that improved
        self._after: dict[int, float] = {}  # the losses of the last round's participants

    def look_at(self, place: str, row: RoundRow) -> None:
        """Look at the next round."""
        if not self._is_whole(place, row):
            self._after = {}
            return
        gram, cone = None, None
        try:
            gram, cone = self._facts.gram(row)
        except FAULTS as error:
            self._drawn.check(False, place, str(error).rstrip("."))
        losses = self._reported(row)
        cohort = _cohort(row, gram, losses) if row.client_ids else None
        self._look_at_participants(place, row)
        self._look_at_examples(place, row)
        self._look_at_schedule(place, row, cohort)
        self._look_at_losses(place, row)
        if cohort is not None:
            self._steps.check(place, row, cohort, gram, reported=losses is not None)
        else:
            failed = row.failed is not None
            self._drawn.check(failed, place, "nobody took part, and the round did not fail")
        self._protection.check(place, row, cone)

    def findings(self) -> Iterator[Finding]:
        """Yield what was found."""
        drawn = "" if self._facts.sampler is None else "drawn by the seed; "
        yield from self._drawn.findings(f"{{checked}} rounds: {drawn}η_t by the schedule")
        yield from self._steps.findings()
        yield from self._protection.findings()
        least = "" if self._least is None else f", {self._least:.4g} % at least"
        yield from self._improved.findings(f"{{checked}} rounds: by the recorded losses{least}")

    def _is_whole(self, place: str, row: RoundRow) -> bool:
        """Tell whether the participants of a round exist, each of them once."""
        ids, m = row.client_ids, len(row.client_ids)
        known = all(0 <= client < self._facts.num_clients for client in ids)
        whole = known and len(set(ids)) == m and (m > 0 or row.lam is None)
        return self._drawn.check(whole, place, "its participants cannot have been there")

    def _look_at_participants(self, place: str, row: RoundRow) -> None:
        """Whoever was drawn by the seed took part, or is named with the reason why not."""
        facts = self._facts
        if facts.sampler is None:
            self._drawn.miss(place, facts.no_sampler)
            return
        drawn = facts.sampler(generator(facts.spec.seed, Stream.SAMPLING, row.round_num))
        left_out = {failure.client_id for failure in row.quarantined}
        counted = set(row.client_ids)
        holds = counted <= set(drawn) and set(drawn) <= counted | left_out
        self._drawn.check(holds, place, "its clients are not those that the seed draws")

    def _look_at_examples(self, place: str, row: RoundRow) -> None:
        """Who is honest has as many examples as the partition gives it."""
        facts = self._facts
        if facts.train_sizes is None or row.num_examples is None or facts.malicious is None:
            return
        honest = ~among(row.client_ids, facts.malicious)
        held = facts.train_sizes[np.array(row.client_ids, dtype=np.int64)]
        wrong = np.flatnonzero(honest & (row.num_examples != held))
        named = ", ".join(str(row.client_ids[client]) for client in wrong[:3])
        self._drawn.check(
            not len(wrong), place, f"num_examples of client {named} is not what the partition says"
        )

    def _look_at_schedule(self, place: str, row: RoundRow, cohort: Cohort | None) -> None:
        """η_t is what the schedule gives, and 0 where nobody sent anything."""
        schedule = self._facts.schedule
        if row.norms is None and isinstance(schedule, MedianNorm):
            self._drawn.miss(place, "format 1 wrote no norms")
            return
        expected = 0.0 if cohort is None else schedule(row.round_num, cohort)
        self._drawn.check(
            abs(row.server_lr - expected) <= _SAME_STEP * abs(expected),
            place,
            f"server_lr is {row.server_lr:.9g}, and the schedule gives {expected:.9g}",
        )

    def _look_at_losses(self, place: str, row: RoundRow) -> None:
        """The share that improved follows from the losses, and these from the last round's."""
        facts, before, after, ids = (
            self._facts, row.losses_before, row.losses_after, row.client_ids,
        )  # fmt: skip
        if facts.malicious is None:
            self._improved.miss(place, "who attacks is named, and no name is kept")
            return
        honest = [i for i, client in enumerate(ids) if client not in facts.malicious]
        due = facts.spec.evaluation.improved_is_due(row.round_num) and bool(ids)
        measured = before is not None and after is not None
        self._improved.check(
            measured if due else after is None,
            place,
            "its losses are not measured when the spec says so",
        )
        if before is not None:
            last = [(i, self._after[ids[i]]) for i in honest if ids[i] in self._after]
            far = [ids[i] for i, old in last if not _same(before[i], old)]
            self._improved.check(
                not far,
                place,
                f"the loss of client {far[0] if far else 0} before it is not the one after the "
                "round before",
            )
        self._after = {} if after is None else {ids[i]: float(after[i]) for i in honest}
        shares = _improved(before, after, honest)
        told = "null" if shares is None else f"{shares[0]:.9g}"
        right = shares is None
        if row.improved is not None:
            self._least = min(row.improved, 100.0 if self._least is None else self._least)
            right = shares is not None and shares[0] <= row.improved <= shares[1]
        said = "null" if row.improved is None else f"{row.improved:.9g}"
        self._improved.check(right, place, f"improved is {said}, and the losses give {told}")

    def _reported(self, row: RoundRow) -> Vector | None:
        """Return the losses that participants reported, where the record tells."""
        facts, before = self._facts, self._facts.spec.clients.reported_loss == "before"
        if before and facts.spec.server.protect is None:
            return row.losses_before  # as they were said
        losses = row.losses_before if before else row.local_losses
        liars = among(row.client_ids, facts.malicious or ())
        if losses is None or facts.malicious is None or not liars.any():
            return None if facts.malicious is None else losses
        match facts.attack:
            case None:
                return None
            case ScaleLoss(factor=factor) if before:
                return np.where(liars, factor * losses, losses)
            case BiasLoss(bias=bias):
                return np.where(liars, losses + bias, losses)
        return losses


def _cohort(row: RoundRow, gram: Gram | None, losses: Vector | None) -> Cohort:
    """Return the participants as the record knows them; NaN is what it does not know."""
    unknown = np.full(len(row.client_ids), np.nan)
    return Cohort(
        client_ids=row.client_ids,
        updates=RecordedUpdates(unknown if row.norms is None else row.norms, gram),
        num_examples=unknown if row.num_examples is None else row.num_examples,
        losses=unknown if losses is None else losses,
    )


def _improved(
    before: Vector | None, after: Vector | None, honest: list[int]
) -> tuple[float, float] | None:
    """Return between which percentages the share of improved participants lies.

    It is one number, but for losses that were infinite before: the record has null for them, as
    for those that are not known. None where the share is not known at all.
    """
    if before is None or after is None or not honest:
        return None
    old, new = before[honest], after[honest]
    infinite = np.where(np.isnan(old), np.inf, old)
    return improved_participants(old, new), improved_participants(infinite, new)


def _same(loss: float, other: float) -> bool:
    """Tell whether a loss was measured twice; one that is not known is no other."""
    return not abs(loss - other) > _SAME_LOSS * max(abs(loss), abs(other))
