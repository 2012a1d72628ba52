"""Who is better off under one run than under others, client by client and row by row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._random import Stream, generator
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.experiments._compare_scores import compare_scores, keep_no_rows
from fedmgda.experiments._compared import CONSTANT, check_same_rows, constant_side, open_sides
from fedmgda.experiments._comparison import (
    Against,
    ClientGain,
    Comparison,
    ProtectedRounds,
    RunScore,
)
from fedmgda.experiments._conclusion import conclusion, most_telling
from fedmgda.metrics import (
    DRAWS,
    LEVEL,
    METRICS,
    SameRows,
    default_metrics,
    interval,
    known_mean,
    measure,
    paired_over_seeds,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda._types import Indices
    from fedmgda.experiments._compared import Side
    from fedmgda.metrics import Answers, Paired

__all__ = ["compare_runs"]


def compare_runs(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    against: str | None = None,
    draws: int = DRAWS,
) -> Comparison:
    """Compare the first run with the others, on the rows all of them were tested on.

    Where none of them kept its test rows, the clients' accuracies are compared, and what is owed to
    chance is not known.

    Args:
        paths: Run folders, or folders of runs; runs that differ in the seed only are one.
        metric: Its name; that of the first run's spec, or what goes with the task, if None.
        against: The run to compare with; all others, and the constant predictor, if None.
        draws: How many samples are behind intervals and tests.

    Raises:
        DataError: If the runs do not have the same test rows.
        SpecError: If there is no such metric or run.
    """
    if keep_no_rows(paths):
        return compare_scores(paths, metric=metric, against=against)
    sides, notes = open_sides(paths)
    first = [side for side in sides if side.label == sides[0].label]
    name = _metric(metric, first[0])
    others = _others(sides, first, against)
    if not others:
        raise DataError(f"There is nothing to compare {first[0].run.path} with; name another run.")
    runs = [first, *others]
    pairs = [_partners(first, other) for other in others]
    binary = first[0].answers.num_classes == 2
    found = [side.answers for side in first]
    against_each = tuple(
        _against(name, [(m, t) for m, t in zip(first, theirs, strict=True) if t], draws)
        for theirs in pairs
    )
    verdicts = {side.seed: side.run.verdict for side in first}
    return Comparison(
        metric=name,
        clients=first[0].names,
        rows=tuple(sum(_rows_of(side, i) for side in first) for i in range(len(first[0].names))),
        runs=_with_improved([_score(name, side, draws) for side in runs], runs),
        against=against_each,
        conclusion=conclusion(verdicts, most_telling(against_each)),
        verdict=first[0].run.verdict,
        positive=first[0].classes[found[0].positive] if binary else None,
        positives=sum(int((s.targets == s.positive).sum()) for s in found) if binary else None,
        notes=notes,
        draws=draws,
    )


def _metric(name: str | None, side: Side) -> str:
    """Return the metric that is asked for, or the first one that the run itself measured."""
    known = default_metrics(side.answers.num_classes)
    wanted = side.run.spec.evaluation.metrics
    chosen = (
        name.lower() if name else (wanted[0] if isinstance(wanted, tuple) and wanted else known[0])
    )
    task = "regression" if side.answers.num_classes is None else "classification"
    if chosen not in METRICS or METRICS[chosen].task != task:
        near = did_you_mean(nearest_names(chosen, known), f"there are {', '.join(known)}.")
        raise SpecError(f"{chosen!r} is no metric of a {task}; {near}")
    return chosen


def _others(sides: list[Side], first: list[Side], against: str | None) -> list[list[Side]]:
    """Return the runs to compare with, each a list over seeds."""
    labels = dict.fromkeys(side.label for side in sides if side.label != first[0].label)
    groups = {label: [side for side in sides if side.label == label] for label in labels}
    constant = [found for side in first if (found := constant_side(side)) is not None]
    if constant:
        groups.setdefault(CONSTANT, constant)
    if against is None:
        return list(groups.values())
    # Of several folders, alone is the one of each.
    chosen = [label for label in groups if against in {label, label.rpartition("/")[2]}]
    if not chosen:
        why = "" if against != CONSTANT else "; these runs kept no sums of their targets"
        near = did_you_mean(nearest_names(against, groups), f"there are {', '.join(groups)}.")
        raise SpecError(f"There is no run {against!r} to compare with{why}; {near}")
    return [groups[label] for label in chosen]


def _partners(first: list[Side], others: list[Side]) -> list[Side | None]:
    """Return the run of the same seed for each; where no seed is in common, one for the first."""
    by_seed = {side.seed: side for side in others}
    found = [by_seed.get(mine.seed) for mine in first]
    if not any(found):
        found[0] = others[0]  # which is refused with the reason, unless the rows are the same
    for mine, other in zip(first, found, strict=True):
        if other is not None:
            check_same_rows(mine, other)
    return found


def _score(name: str, sides: list[Side], draws: int) -> RunScore:
    by_seed = np.array([_values(name, side, draws) for side in sides])  # (seeds, clients, 3)
    values = known_mean(by_seed)
    # The bounds of some seeds are none for the mean of all.
    unsure = (~np.isnan(by_seed[:, :, 0]) & np.isnan(by_seed[:, :, 1])).any(axis=0)
    values[unsure, 1:] = np.nan
    better = METRICS[name].larger_is_better
    known = values[~np.isnan(values[:, 0]), 0]
    hits = [side.answers for side in sides if side.answers.num_classes == 2]
    return RunScore(
        name=sides[0].label,
        seeds=tuple(side.seed for side in sides),
        pooled=float(np.mean([measure(name, side.answers) for side in sides])),
        average=float(known.mean()) if len(known) else math.nan,
        worst=float(known.min() if better else known.max()) if len(known) else math.nan,
        clients=tuple(values[:, 0].tolist()),
        low=tuple(values[:, 1].tolist()),
        high=tuple(values[:, 2].tolist()),
        found=sum(
            int(((s.targets == s.positive) & (s.predictions == s.positive)).sum()) for s in hits
        )
        if hits
        else None,
        protection=None if sides[0].label == CONSTANT else _protected(sides),
    )


def _protected(sides: list[Side]) -> ProtectedRounds | None:
    """Return what protection made of the rounds of those seeds that have it."""
    summaries = [side.run.summary for side in sides if side.run.summary.protection is not None]
    if not summaries:
        return None
    made = [one for summary in summaries if (one := summary.protection) is not None]
    return ProtectedRounds(
        with_step=float(np.mean([one.share_with_step for one in made])),
        held=float(np.mean([one.share_held for one in made])),
        overridden=float(np.mean([one.share_overridden for one in made])),
        improved=_mean_of_known([summary.improved for summary in summaries]),
        improved_with_step=_mean_of_known([one.improved_with_step for one in made]),
    )


def _with_improved(scores: list[RunScore], runs: list[list[Side]]) -> tuple[RunScore, ...]:
    """Say beside protected runs how often a round of the others raised nobody's loss."""
    if all(score.protection is None for score in scores):
        return tuple(scores)
    return tuple(
        replace(score, improved=_improved(sides)) if score.protection is None else score
        for score, sides in zip(scores, runs, strict=True)
    )


def _improved(sides: list[Side]) -> float | None:
    federated = [s.run for s in sides if s.label != CONSTANT and s.run.spec.baseline is None]
    return _mean_of_known([run.summary.improved for run in federated])


def _mean_of_known(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _values(name: str, side: Side, draws: int) -> list[tuple[float, float, float]]:
    """Return for every client the metric and its interval."""
    found = []
    for client in range(len(side.names)):
        part, rng = _part(side, client)
        found.append((measure(name, part), *interval(name, part, rng, draws)))
    return found


def _against(name: str, pairs: list[tuple[Side, Side | None]], draws: int) -> Against:
    sides = [(mine, other) for mine, other in pairs if other is not None]
    by_client = [
        [_pair(name, [side], client, draws) for side in sides]
        for client in range(len(sides[0][0].names))
    ]
    whole = _pair(name, sides, None, draws)
    means = [
        _pair(name, sides, client, draws) if len(sides) > 1 else mine[0]
        for client, mine in enumerate(by_client)
    ]
    gains = np.array([mean.gain for mean in means])
    losing = np.sum([mean.loses_by_chance() for mean in means], axis=0)
    worse = np.sum([mean.worse_by_chance() for mean in means], axis=0)
    clients = tuple(
        _client_gain(sides, client, mean, by_client[client]) for client, mean in enumerate(means)
    )
    seeds = range(len(sides))
    return Against(
        name=sides[0][1].label,
        seeds=tuple(mine.seed for mine, _ in sides),
        gain=whole.gain,
        low=whole.interval[0],
        high=whole.interval[1],
        gaining=int(np.sum(gains > 0)),
        losing=int(np.sum(gains < 0)),
        losing_by_chance=float(losing.mean()),
        losing_by_chance_95=float(np.percentile(losing, 95)),
        better=sum(client.beyond_chance == "better" for client in clients),
        worse=sum(client.beyond_chance == "worse" for client in clients),
        worse_by_chance=float(worse.mean()),
        worse_by_chance_95=float(np.percentile(worse, 95)),
        losing_by_seed=tuple(sum(pairs[s].gain < 0 for pairs in by_client) for s in seeds),
        worse_by_seed=tuple(sum(pairs[s].p_worse <= LEVEL for pairs in by_client) for s in seeds),
        clients=clients,
    )


def _client_gain(
    sides: list[tuple[Side, Side]], client: int, mean: Paired, by_seed: list[Paired]
) -> ClientGain:
    low, high = mean.interval
    called: Literal["worse", "better"] | None = "worse" if mean.p_worse <= LEVEL else None
    if mean.p_better <= LEVEL:
        called = "better"
    return ClientGain(
        client=sides[0][0].names[client],
        rows=sum(_rows_of(mine, client) for mine, _ in sides),
        gain=mean.gain,
        low=low,
        high=high,
        p_worse=mean.p_worse,
        p_better=mean.p_better,
        beyond_chance=called,
        by_seed=tuple(pair.gain for pair in by_seed),
    )


def _pair(name: str, sides: list[tuple[Side, Side]], client: int | None, draws: int) -> Paired:
    """Compare on the rows of a client, or on all of them, over those seeds together."""
    tests, firsts = list[SameRows](), list[int]()
    for mine, other in sides:
        places = np.arange(len(mine.rows)) if client is None else _places(mine, client)
        ours, theirs = mine.answers.take(places), other.answers.take(places)
        tests.append(SameRows(rows=mine.rows[places], ours=ours, theirs=theirs))
        firsts += mine.rows[places[:1]].tolist()
    key = () if client is None else (min(firsts, default=0) + 1,)
    rng = generator(sides[0][0].seed, Stream.COMPARISON, *key)
    return paired_over_seeds(name, tests, rng, draws)


def _part(side: Side, client: int) -> tuple[Answers, np.random.Generator]:
    """Return the rows of a client, and a generator that depends on them and not on its number."""
    places = _places(side, client)
    first = int(side.rows[places[0]]) if len(places) else 0
    return side.answers.take(places), generator(side.seed, Stream.COMPARISON, first + 1)


def _places(side: Side, client: int) -> Indices:
    return np.flatnonzero(side.clients == client)


def _rows_of(side: Side, client: int) -> int:
    return int(np.sum(side.clients == client))
