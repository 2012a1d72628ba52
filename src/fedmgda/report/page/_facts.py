"""What a reader wants to know first: did it learn, whom did it cost, which rounds did nothing?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.report.page._run_view import ROUNDS
from fedmgda.report.page._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedmgda.experiments import GroupSummary, Verdict
    from fedmgda.report.page._joined import Joined
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = [
    "LEARNED",
    "SO_FAR",
    "GroupFacts",
    "facts_table",
    "group_facts",
    "measure_of",
    "mood_of",
]

LEARNED, SO_FAR = "learned", " so far"
_MOODS = {
    LEARNED: "good", "may have learned": "warn", "not learned": "bad", "diverged": "bad",
    "stood still": "warn", "not tested": "quiet",
}  # fmt: skip


def mood_of(outcome: str) -> str:
    """Return how good an outcome is: good, warn, bad or quiet."""
    return _MOODS.get(outcome.removesuffix(SO_FAR), "quiet")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """What is known of the runs of one name; counts are sums over seeds, values means.

    Attributes:
        name: What the runs are called.
        baseline: Whether they are what federations are held against.
        rule: The rule, or the baseline.
        seeds: Their seeds.
        states: Where they stand, and how many of them.
        outcomes: Their verdicts, and how many of each; "... so far" of runs that are not finished.
        good: Whether every verdict lets a script go on.
        sentence: The most important thing; None where nothing is known yet.
        average: Of the users' accuracy, or loss, at the model that is kept.
        worst: The worst 5 % of it.
        rounds: How many rounds were made.
        against: In how many of them the step went against somebody, to first order.
        improved: The mean share of participants whose training loss did not rise, in percent.
        held: In how many rounds protection left the model where it was; None without protection.
        stalled: In how many the updates cancelled; None where nobody looked.
        failed: In how many the model did not move for lack of updates.
        quarantined: How many replies did not count.
        rose: Of protected steps: honest participations whose loss rose, as measured.
        measured: How many of these were measured.
        said_rose: Of protected steps: participations whose loss rose, as they said it.
        said: How many of these there were.
        few: How many users have fewer than ten test rows.
        broken: How many of its folders are damaged.
        unread: Of how many rounds are missing for that.
    """

    name: str
    baseline: bool
    rule: str
    seeds: tuple[int, ...]
    states: dict[str, int]
    outcomes: dict[str, int]
    good: bool
    sentence: str | None
    average: float | None
    worst: float | None
    rounds: int
    against: int
    improved: float | None
    held: int | None
    stalled: int | None
    failed: int
    quarantined: int
    rose: int | None
    measured: int | None
    said_rose: int | None
    said: int | None
    few: int
    broken: int
    unread: int


def measure_of(source: Source) -> str:
    """Return "accuracy", or "loss" where no run has an accuracy."""
    for view in source.views:
        scores = _final_scores(view)
        if scores is not None and scores.accuracy is not None:
            return "accuracy"
    return "loss"


def _final_scores(view: RunView) -> GroupSummary | None:
    """Return what honest users have of the model that is kept, or of the last one so far."""
    if view.summary is not None:
        return view.summary.honest
    return view.evaluations[-1].honest if view.evaluations else None


def group_facts(group: Group, measure: str, joined: Joined) -> GroupFacts:
    """Return what is known of the runs of one name."""
    views = group.views
    rows = [row for view in views for row in view.rounds]
    verdicts = [view.verdict for view in views if view.verdict is not None]
    average, worst = zip(*(_average_and_worst(view, measure) for view in views), strict=True)
    promises = [
        view.summary.protection
        for view in views
        if view.summary is not None and view.summary.protection is not None
    ]
    return GroupFacts(
        name=group.name,
        baseline=group.first.baseline,
        rule=rule_of(group.first),
        seeds=tuple(view.seed for view in views),
        states=dict(Counter(view.state for view in views)),
        outcomes=dict(Counter(_outcome(view, view.verdict) for view in views if view.verdict)),
        good=all(verdict.good for verdict in verdicts),
        sentence=_sentence(group, joined),
        average=_mean(average),
        worst=_mean(worst),
        rounds=len(rows),
        against=sum(bool(row.sacrificed) for row in rows),
        improved=_mean([row.improved for row in rows]),
        held=None
        if all(row.protection is None for row in rows)
        else sum(bool(row.held) for row in rows),
        stalled=None
        if all(row.stalled is None for row in rows)
        else sum(bool(row.stalled) for row in rows),
        failed=sum(row.failed is not None for row in rows),
        quarantined=sum(len(row.quarantined) for row in rows),
        rose=sum(one.rose_as_measured for one in promises) if promises else None,
        measured=sum(one.participations_measured for one in promises) if promises else None,
        said_rose=sum(one.participations_overridden for one in promises) if promises else None,
        said=sum(one.participations for one in promises) if promises else None,
        few=max((verdict.few_test_examples for verdict in verdicts), default=0),
        broken=sum(bool(view.problems) for view in views),
        unread=sum(ROUNDS in view.unread for view in views),
    )


def rule_of(view: RunView) -> str:
    """Return the rule of a run as people call it, or what baseline it is."""
    spec = view.run.spec
    if spec.baseline is not None:
        return f"baseline {spec.baseline}"
    epsilon = spec.rule.epsilon
    told = f"{spec.rule.name}" + (f", ε = {epsilon:g}" if isinstance(epsilon, int | float) else "")
    told += ", protected" if spec.server.protect is not None else ""
    attack = spec.attack.name
    return told if attack in {None, "none"} else f"{told}, attacked by {attack}"


def facts_table(facts: Sequence[GroupFacts], measure: str) -> Table:
    """Return the facts of all groups as a table."""
    return Table(
        name="overview",
        title="Every run in one line",
        columns=(
            "run", "rule", "seeds", "outcome", f"average {measure}", f"worst 5 % {measure}",
            "rounds", "rounds against somebody", "improved participants %", "rounds held",
            "rounds stalled", "rounds failed", "replies quarantined",
        ),
        rows=tuple(
            (
                one.name, one.rule, len(one.seeds), _outcomes(one), one.average, one.worst,
                one.rounds, one.against, one.improved, one.held, one.stalled, one.failed,
                one.quarantined,
            )
            for one in facts
        ),
        percent=(f"average {measure}", f"worst 5 % {measure}") if measure == "accuracy" else (),
    )  # fmt: skip


def _outcomes(one: GroupFacts) -> str:
    if len(one.outcomes) == 1:
        return next(iter(one.outcomes))
    told = ", ".join(f"{outcome} ({count})" for outcome, count in one.outcomes.items())
    return told or ", ".join(one.states)


def _sentence(group: Group, joined: Joined) -> str | None:
    """Return what a comparison concludes of these runs, or the verdict of the worst of them."""
    concluded = joined.conclusion_of(group.name)
    if concluded is not None:
        return concluded
    judged = [(view, view.verdict) for view in group.views if view.verdict is not None]
    return _over_seeds(judged, len(group.views)) if judged else None


def _outcome(view: RunView, verdict: Verdict) -> str:
    return verdict.outcome if view.state == "finished" else f"{verdict.outcome}{SO_FAR}"


def _over_seeds(judged: Sequence[tuple[RunView, Verdict]], seeds: int) -> str:
    """Say what became of several seeds: of all alike in one sentence, else of the worst of them."""
    view, verdict = min(judged, key=lambda pair: pair[1].good)
    alike = {_outcome(*pair) for pair in judged} == {LEARNED}
    losses = [one.loss for _, one in judged if one.loss is not None]
    before = [one.initial_loss for _, one in judged if one.initial_loss is not None]
    if len(judged) > 1 and alike and losses:
        every = f"all {seeds}" if seeds == len(judged) else f"{len(judged)} of {seeds}"
        range_ = f"{min(losses):.3g} to {max(losses):.3g}, {np.mean(losses):.3g} on average"
        first = f"; {np.mean(before):.3g} before training" if before else ""
        return f"It learned in {every} seeds: test loss {range_}{first}."
    said = verdict.headline
    if view.state != "finished":
        said = f"After round {len(view.rounds)} of {view.run.spec.rounds}: {said}"
    return f"Seed {view.seed}: {said}" if seeds > 1 else said


def _average_and_worst(view: RunView, measure: str) -> tuple[float | None, float | None]:
    scores = _final_scores(view)
    values = None if scores is None else getattr(scores, measure)
    if values is None:
        return None, None
    tail = "percentile_5" if measure == "accuracy" else "percentile_95"
    return values["average"], values[tail]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
