"""Who is better off under one run than under others, client by client and row by row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._random import Stream, generator
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.experiments._compare_gains import gains_over, places_of, rows_of
from fedmgda.experiments._compare_scores import compare_scores, keep_no_rows
from fedmgda.experiments._compared import CONSTANT, check_same_rows, constant_side, open_sides
from fedmgda.experiments._compared_users import a_seed, compared_users
from fedmgda.experiments._comparison import (
    Comparison,
    ProtectedRounds,
    RunScore,
)
from fedmgda.experiments._conclusion import conclusion, most_telling, stalled
from fedmgda.experiments._labels import goes_by
from fedmgda.metrics import (
    DRAWS,
    METRICS,
    default_metrics,
    interval,
    known_mean,
    measure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.experiments._compare_gains import Pairs
    from fedmgda.experiments._compared import Side
    from fedmgda.experiments._compared_users import ComparedUser
    from fedmgda.metrics import Answers

    Values: TypeAlias = "list[tuple[float, float, float]]"

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
    users = compared_users([side.run for side in first], [side.names for side in first])
    by_seed = {side.seed: side for side in first}
    pairs = [_partners(first, other) for other in others]
    binary = first[0].answers.num_classes == 2
    found = [side.answers for side in first]
    against_each = tuple(gains_over(name, users, pair, draws) for pair in pairs)
    theirs = [{seed: other for seed, (_, other) in pair.items()} for pair in pairs]
    scores = [(_score(name, users, sides, draws), sides) for sides in (by_seed, *theirs)]
    verdicts = {side.seed: side.run.verdict for side in first}
    return Comparison(
        metric=name,
        clients=tuple(user.name for user in users),
        rows=tuple(
            sum(rows_of(side, user.client) for side in user.among(by_seed).values())
            for user in users
        ),
        runs=_with_improved(scores),
        against=against_each,
        conclusion=conclusion(verdicts, most_telling(against_each)),
        verdict=first[0].run.verdict,
        positive=first[0].classes[found[0].positive] if binary else None,
        positives=sum(int((s.targets == s.positive).sum()) for s in found) if binary else None,
        notes=notes,
        stalls=stalled(verdicts),
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
    chosen = [
        name
        for name, group in groups.items()
        if (against == name if name == CONSTANT else goes_by(against, name, group[0].run))
    ]
    if not chosen:
        why = "" if against != CONSTANT else "; these runs kept no sums of their targets"
        near = did_you_mean(nearest_names(against, groups), f"there are {', '.join(groups)}.")
        raise SpecError(f"There is no run {against!r} to compare with{why}; {near}")
    return [groups[label] for label in chosen]


def _partners(first: list[Side], others: list[Side]) -> Pairs:
    """Return, by seed, both runs; where no seed is in common, one for the first."""
    theirs = {side.seed: side for side in others}
    found = {mine.seed: (mine, theirs[mine.seed]) for mine in first if mine.seed in theirs}
    # Which is refused with the reason, unless the rows are the same.
    found = found or {first[0].seed: (first[0], others[0])}
    for mine, other in found.values():
        check_same_rows(mine, other)
    return found


def _score(name: str, users: list[ComparedUser], by_seed: dict[int, Side], draws: int) -> RunScore:
    sides = list(by_seed.values())
    found = {seed: _values(name, side, draws) for seed, side in by_seed.items()}
    values = np.array([_of_user(user, found) for user in users])
    worst = np.min if METRICS[name].larger_is_better else np.max

    def of_known(places: list[int], of: Callable[[Vector], Any]) -> float:
        known = values[places, 0][~np.isnan(values[places, 0])]
        return float(of(known)) if len(known) else math.nan

    hits = [side.answers for side in sides if side.answers.num_classes == 2]
    return RunScore(
        name=sides[0].label,
        seeds=tuple(side.seed for side in sides),
        pooled=float(np.mean([measure(name, side.answers) for side in sides])),
        average=of_known(list(range(len(users))), np.mean),
        worst=a_seed(users, by_seed, lambda places: of_known(places, worst)),
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


def _of_user(user: ComparedUser, by_seed: dict[int, Values]) -> Vector:
    """Return value and interval of a user, of shape `(3,)`, the mean over its seeds."""
    mine = np.array([values[user.client] for values in user.among(by_seed).values()])
    if not len(mine):
        return np.full(3, np.nan)
    mean = known_mean(mine)
    # The bounds of some seeds are none for the mean of all.
    unsure = (~np.isnan(mine[:, 0]) & np.isnan(mine[:, 1])).any()
    return np.array([mean[0], np.nan, np.nan]) if unsure else mean


def _with_improved(scores: list[tuple[RunScore, dict[int, Side]]]) -> tuple[RunScore, ...]:
    """Say beside protected runs how often a round of the others raised nobody's loss."""
    if all(score.protection is None for score, _ in scores):
        return tuple(score for score, _ in scores)
    return tuple(
        replace(score, improved=_improved(sides.values())) if score.protection is None else score
        for score, sides in scores
    )


def _improved(sides: Iterable[Side]) -> float | None:
    federated = [s.run for s in sides if s.label != CONSTANT and s.run.spec.baseline is None]
    return _mean_of_known([run.summary.improved for run in federated])


def _mean_of_known(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _values(name: str, side: Side, draws: int) -> Values:
    """Return for every client the metric and its interval."""
    found = []
    for client in range(len(side.names)):
        part, rng = _part(side, client)
        found.append((measure(name, part), *interval(name, part, rng, draws)))
    return found


def _part(side: Side, client: int) -> tuple[Answers, np.random.Generator]:
    """Return the rows of a client, and a generator that depends on them and not on its number."""
    places = places_of(side, client)
    first = int(side.rows[places[0]]) if len(places) else 0
    return side.answers.take(places), generator(side.seed, Stream.COMPARISON, first + 1)
