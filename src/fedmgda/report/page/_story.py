"""One user's story: how it fared under every run, at every evaluation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fedmgda.report.page._facts import final_evaluation
from fedmgda.report.page._table import Table, thinned
from fedmgda.report.page._users import value_of

if TYPE_CHECKING:
    from fedmgda.report.page._source import Group, Source

__all__ = ["story_tables"]

_MOST_POINTS = 40  # of one user's curve
_MOST_USERS = 300
_MOST_GROUPS = 12


def story_tables(source: Source, measure: str) -> tuple[Table, Table] | None:
    """Return the users' curves, and what is known of each at the end; None without evaluations.

    Of the first seed of every group: with another seed, a user of data that is dealt has others.
    """
    curves, ends = list[Any](), list[Any]()
    for group in source.groups[:_MOST_GROUPS]:
        curves += _curves(group, measure)
        ends += _ends(group, measure)
    if not curves:
        return None
    shares = ("value", "low", "high") if measure == "accuracy" else ()
    return (
        Table(
            name="story",
            title=f"One user's test {measure} over rounds",
            columns=("run", "user", "round", "value"),
            rows=tuple(curves),
            percent=shares,
        ),
        Table(
            name="story-end",
            title="One user at the end of every run",
            columns=(
                "run", "user", "value", "low", "high", "rank", "of", "training rows", "test rows",
                "rounds taken part", "rounds against it", "rounds it opposed", "kind",
            ),
            rows=tuple(ends),
            percent=shares,
        ),
    )  # fmt: skip


def _curves(group: Group, measure: str) -> list[Any]:
    view = group.first
    rows = view.evaluations
    if view.run.spec.baseline == "alone":
        rows = rows[-1:]
    kept = [rows[place] for place in thinned(len(rows), _MOST_POINTS)]
    found = []
    for row in kept:
        values = row.accuracies if measure == "accuracy" else row.losses
        for client, value in zip(row.client_ids[:_MOST_USERS], values.tolist(), strict=False):
            if math.isfinite(value):
                found.append((group.name, view.user_name(client), row.round_num, value))
    return found


def _ends(group: Group, measure: str) -> list[Any]:
    view = group.first
    row = final_evaluation(view)
    if row is None or not view.clients:
        return []
    values = row.accuracies if measure == "accuracy" else -row.losses
    known = {
        client: value
        for client, value in zip(row.client_ids, values.tolist(), strict=True)
        if math.isfinite(value)
    }
    ranked = sorted(known.values(), reverse=True)
    lines = {line.client_id: line for line in view.lines}
    return [
        (
            group.name, view.user_name(one.client_id), *value_of(lines[one.client_id], measure),
            ranked.index(known[one.client_id]) + 1, len(ranked), one.train_examples,
            one.test_examples, one.rounds, one.rounds_sacrificed, one.rounds_opposed,
            "malicious" if one.client_id in view.malicious else "honest",
        )
        for one in view.clients[:_MOST_USERS]
        if one.client_id in known and one.client_id in lines
    ]  # fmt: skip
