"""One user's story: how it fared under every run, at every evaluation."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.report.page._table import Table, thinned
from fedmgda.report.page._users import kind_of, mean_of, of_users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.experiments import ClientLine, EvaluationRow
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = ["story_tables", "untold"]

_MOST_POINTS = 40  # of one user's curve
_MOST_USERS = 300
_MOST_GROUPS = 12


def story_tables(source: Source, measure: str) -> tuple[Table, Table] | None:
    """Return the users' curves, and what is known of each at the end; None without evaluations.

    Of a user that several seeds have, everything is the mean over them, or the sum of a count.
    """
    curves, ends = list[Any](), list[Any]()
    for group in source.groups[:_MOST_GROUPS]:
        curves += _curves(group, measure)
        ends += _ends(group, measure)
    if not curves or not ends:
        return None
    shares = ("value", "low", "high") if measure == "accuracy" else ()
    bands = ("low", "high") if any(row[-1] != row[-2] for row in curves) else ()
    return (
        Table(
            name="story",
            title=f"One user's test {measure} over rounds",
            columns=("run", "user", "round", "value", *bands),
            rows=tuple(curves if bands else (row[:4] for row in curves)),
            percent=tuple(name for name in shares if name in {"value", *bands}),
        ),
        Table(
            name="story-end",
            title=f"One user at the end of every run: its test {measure}",
            columns=(
                "run", "user", "kind", "value", "low", "high", "rank", "of", "seeds",
                "training rows", "test rows", "rounds taken part", "rounds against it",
                "rounds it opposed",
            ),
            rows=tuple(ends),
            percent=shares,
        ),
    )  # fmt: skip


def untold(source: Source) -> str | None:
    """Say of whom there is no story, where there are too many."""
    users = max((len(of_users(group)) for group in source.groups), default=0)
    told = []
    if users > _MOST_USERS:
        told.append(f"Of {users:,} users the first {_MOST_USERS} can be chosen.")
    if len(source.groups) > _MOST_GROUPS:
        told.append(f"Of {len(source.groups)} runs the first {_MOST_GROUPS} are here.")
    return " ".join(told) or None


def _curves(group: Group, measure: str) -> list[Any]:
    """Return round, mean, least and largest over seeds of every user."""
    found: list[Any] = []
    rounds = sorted({row.round_num for view in group.views for row in _evaluations(view)})
    kept = [rounds[place] for place in thinned(len(rounds), _MOST_POINTS)]
    values = {view.seed: _by_round(view, measure) for view in group.views}
    for user, mine in islice(of_users(group).items(), _MOST_USERS):
        for number in kept:
            seeds = [values[v.seed].get(number, {}).get(line.client_id) for v, line in mine]
            known = [value for value in seeds if value is not None and math.isfinite(value)]
            if known:
                mean = float(np.mean(known))
                found.append((group.name, user, number, mean, min(known), max(known)))
    return found


def _evaluations(view: RunView) -> Sequence[EvaluationRow]:
    return view.evaluations[-1:] if view.run.spec.baseline == "alone" else view.evaluations


def _by_round(view: RunView, measure: str) -> dict[int, dict[int, float]]:
    """Return by round and client what was measured."""
    return {
        row.round_num: dict(
            zip(
                row.client_ids,
                (row.accuracies if measure == "accuracy" else row.losses).tolist(),
                strict=True,
            )
        )
        for row in _evaluations(view)
    }


def _ends(group: Group, measure: str) -> list[Any]:
    users = of_users(group)
    values = {user: mean_of([line for _, line in mine], measure) for user, mine in users.items()}
    found = list[Any]()
    for user, mine in islice(users.items(), _MOST_USERS):
        if not math.isfinite(values[user][0]):
            continue
        view, first = mine[0]
        found.append(
            (
                group.name, user, kind_of(view, first.client_id), *values[user],
                *_rank(user, view, values, measure), len(mine), *_counts(mine),
            )
        )  # fmt: skip
    return found


def _rank(
    user: str, view: RunView, values: dict[str, tuple[float, float, float]], measure: str
) -> tuple[int, int]:
    """Return the place of a user among those of its run, or of all seeds, and how many they are."""
    names = [view.user_name(line.client_id) for line in view.lines] if view.apart else list(values)
    better = 1.0 if measure == "accuracy" else -1.0
    known = [better * values[name][0] for name in names if math.isfinite(values[name][0])]
    return 1 + sum(value > better * values[user][0] for value in known), len(known)


def _counts(mine: Sequence[tuple[RunView, ClientLine]]) -> tuple[int | None, ...]:
    """Return sums over the runs of a user; None where nothing was counted."""
    rows = [view.clients[line.client_id] for view, line in mine]

    def total(count: str) -> int | None:
        known = [getattr(row, count) for row in rows]
        return None if None in known else sum(known)

    keys = ("train_examples", "test_examples", "rounds", "rounds_sacrificed", "rounds_opposed")
    return tuple(map(total, keys))
