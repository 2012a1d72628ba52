"""Who is better off than alone, or than under a baseline: asked of `compare_runs`, pair by pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._errors import FedmgdaError, SpecError
from fedmgda.experiments import compare_runs, distinct_names
from fedmgda.metrics import DRAWS, METRICS
from fedmgda.report.page._source import Group
from fedmgda.report.page._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fedmgda.experiments import Against, Comparison
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Source

__all__ = ["Joined", "Pair", "compare_groups", "joined_table", "pairs_table"]

_CONSTANT = "constant"
_MOST_PAIRS = 16
_MANY_TESTS = 4_000  # of a user under a pair of runs with one seed: beyond, fewer draws are made
_FEWER_DRAWS = 256


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One group of runs held against another.

    Attributes:
        ours: The one.
        theirs: The other.
        found: What `fedmgda compare` says of them.
        users: What the page calls the clients of the comparison.
    """

    ours: str
    theirs: str
    found: Comparison
    users: tuple[str, ...]

    @property
    def against(self) -> Against:
        """What the users of the one gain over the other."""
        return self.found.against[0]

    @property
    def known_chance(self) -> bool:
        """Whether it is known what the chance of the test rows makes."""
        return not math.isnan(self.against.worse_by_chance)

    @property
    def title(self) -> str:
        """Who is held against whom."""
        return f"{self.ours} against {self.theirs}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """All comparisons of a page.

    Attributes:
        pairs: Those that could be made, those against `alone` first.
        why_not: Why others could not, or nothing could be compared.
        left_out: How many were not made, as they would be too many.
        runs: The folders that could be compared.
    """

    pairs: tuple[Pair, ...] = ()
    why_not: tuple[str, ...] = ()
    left_out: int = 0
    runs: tuple[Path, ...] = ()

    def conclusion_of(self, name: str) -> str | None:
        """Return the most telling sentence about a group, if it was compared."""
        return next((pair.found.conclusion for pair in self.pairs if pair.ours == name), None)

    @property
    def apart(self) -> bool:
        """Whether counts are means over seeds, each of which has users of its own."""
        return any(pair.against.apart for pair in self.pairs)

    @property
    def metric(self) -> str | None:
        """The metric that is compared."""
        return self.pairs[0].found.metric if self.pairs else None

    @property
    def draws(self) -> int:
        """How many samples are behind intervals and tests."""
        return self.pairs[0].found.draws if self.pairs else 0


def compare_groups(
    source: Source, metric: str | None = None, before: Joined | None = None
) -> Joined:
    """Hold every federated group against `alone`, a baseline, or a constant if there is neither.

    Args:
        source: The runs.
        metric: Its name; what goes with the data if None.
        before: What was found before; it is returned if there are no other runs to compare now.
    """
    # Where no run kept its test rows, those that did not are compared by their clients' scores.
    rows = any(_keeps_rows(view) for view in source.views)
    usable = [
        Group(name=group.name, views=views)
        for group in source.groups
        if (views := tuple(v for v in group.views if _finished(v) and _keeps_rows(v) == rows))
    ]
    runs = tuple(view.run.path for group in usable for view in group.views)
    if before is not None and before.runs == runs:
        return before
    if not usable:
        return Joined(why_not=("No run is finished and whole, so that none can be compared.",))
    planned: list[tuple[Group, Group | None]] = list(_planned(usable))
    damaged = any(view.problems for group in usable for view in group.views)
    if not (planned or rows or damaged):
        why = "No test rows were kept to hold a run against a constant, and there is no other run"
        return Joined(why_not=(f"{why} to hold it against.",), runs=runs)
    planned = planned or [(group, None) for group in usable]
    users = len(usable[0].first.clients)
    tests = users * sum(len(group.views) for group, _ in planned[:_MOST_PAIRS])
    draws = DRAWS if tests <= _MANY_TESTS else _FEWER_DRAWS
    pairs, why_not = list[Pair](), list[str]()
    for ours, theirs in planned[:_MOST_PAIRS]:
        try:
            pairs.append(_pair(ours, theirs, metric, draws))
        except SpecError:
            raise  # a metric that there is not
        except FedmgdaError as error:
            why_not.append(str(error))
    return Joined(
        pairs=tuple(pairs),
        why_not=tuple(dict.fromkeys(why_not)),
        left_out=max(0, len(planned) - _MOST_PAIRS),
        runs=runs,
    )


def joined_table(joined: Joined) -> Table:
    """Return every user of every pair: what it has, what it gains, how sure that is."""
    metric = METRICS[joined.metric or "accuracy"]
    return Table(
        name="gains",
        title=f"Every user's {metric.label} under one run and another",
        columns=(
            "pair", "user", "test rows", "theirs", "ours", "gain", "gain low", "gain high",
            "p worse", "p better", "call",
        ),
        rows=tuple(
            (
                pair.title, user, gain.rows, theirs, ours, gain.gain, gain.low, gain.high,
                gain.p_worse, gain.p_better, _call(gain.gain, gain.beyond_chance),
            )
            for pair in joined.pairs
            for user, gain, ours, theirs in zip(
                pair.users, pair.against.clients, *(run.clients for run in pair.found.runs),
                strict=True,
            )
            if not math.isnan(gain.gain)
        ),
        percent=("theirs", "ours", "gain", "gain low", "gain high") if metric.percent else (),
    )  # fmt: skip


def pairs_table(joined: Joined) -> Table:
    """Return how many users gain and lose in every pair, and what chance alone would make."""
    each = " of a seed" if joined.apart else ""
    return Table(
        name="pairs",
        title=f"How many users{each} are better and worse off, and how many by chance alone",
        columns=(
            "pair", "seeds", "users", "better beyond chance", "worse beyond chance",
            "worse by chance", "worse at most (95 %)", "higher", "lower", "lower by chance",
            "lower at most (95 %)",
        ),
        rows=tuple(
            (
                pair.title, len(one.seeds), one.known, one.better, one.worse,
                one.worse_by_chance, one.worse_by_chance_95, one.gaining, one.losing,
                one.losing_by_chance, one.losing_by_chance_95,
            )
            for pair in joined.pairs
            for one in [pair.against]
        ),
    )  # fmt: skip


def _call(gain: float, beyond: str | None) -> str:
    if beyond is not None:
        return f"{beyond} beyond chance"
    if gain == 0:
        return "the same"
    return "higher" if gain > 0 else "lower"


def _planned(groups: Sequence[Group]) -> Iterator[tuple[Group, Group | None]]:
    federated = [group for group in groups if not group.first.baseline]
    for alone in (g for g in groups if g.first.run.spec.baseline == "alone"):
        yield from ((group, alone) for group in federated)
    for group in federated:
        base = _base_of(group, federated)
        if base is not None:
            yield group, base


def _base_of(group: Group, federated: Sequence[Group]) -> Group | None:
    """Return what a rule is held against: FedAvg under the same attack, else the last of all."""
    alike = [other for other in federated if _attack(other) == _attack(group)]
    plain = [other for other in alike if _is_plain_average(other)] or alike[-1:]
    return None if group in plain or not plain else plain[0]


def _attack(group: Group) -> object:
    return group.first.run.spec.attack


def _is_plain_average(group: Group) -> bool:
    spec = group.first.run.spec
    return spec.rule.name == "fedavg" and spec.server.protect is None


def _finished(view: RunView) -> bool:
    return view.state == "finished" and view.summary is not None and view.verdict is not None


def _keeps_rows(view: RunView) -> bool:
    if not _finished(view):
        return False
    try:
        return view.run.predictions() is not None
    except FedmgdaError:
        return False


def _pair(ours: Group, theirs: Group | None, metric: str | None, draws: int) -> Pair:
    runs = [view.run for group in (ours, theirs) if group is not None for view in group.views]
    other = _CONSTANT if theirs is None else distinct_names(runs)[-1]
    found = compare_runs([run.path for run in runs], metric=metric, against=other, draws=draws)
    # A comparison has the clients once, or those of the first seed, then those of the next.
    views = ours.views if found.against[0].apart else ours.views[:1]
    return Pair(
        ours=ours.name,
        theirs=theirs.name if theirs else "a constant",
        found=found,
        users=tuple(view.user_name(i) for view in views for i in range(len(view.clients))),
    )
