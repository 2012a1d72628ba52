"""Attacks, quarantine, and where the time went."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.report.page._table import Table, bin_edges, binned
from fedmgda.report.page._users import kind_of, value_of

if TYPE_CHECKING:
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = ["attack_tables", "quarantine_tables", "seconds_table"]

_MOST_LINES = 500
_MOST_BINS = 100
_NUMBER = re.compile(r"\b\d[\d.,e+-]*\s*")


def attack_tables(source: Source, measure: str) -> tuple[Table, Table] | None:
    """Return honest and malicious users apart, and how much λ attackers had; None without any."""
    attacked = [group for group in source.federated if group.first.malicious]
    if not attacked:
        return None
    users, weights = list[Any](), list[Any]()
    for group in attacked:
        users += [line for view in group.views for line in _of_run(group, view, measure)]
        weights += _weights(group)
    if not users and not weights:
        return None
    return (
        Table(
            name="attack",
            title=f"Test {measure} of honest and malicious users",
            columns=("run", "seed", "user", "kind", "value"),
            rows=tuple(users),
        ),
        Table(
            name="attack-weight",
            title="What share of λ the attackers had",
            columns=("run", "first round", "last round", "mean", "low", "high"),
            rows=tuple(weights),
        ),
    )


def _of_run(group: Group, view: RunView, measure: str) -> list[Any]:
    found = ((line.client_id, value_of(line, measure)[0]) for line in view.lines)
    return [
        (group.name, view.seed, view.user_name(client), kind_of(view, client), value)
        for client, value in sorted(found)
        if math.isfinite(value)
    ]


def _weights(group: Group) -> list[Any]:
    numbers, shares = list[int](), list[float]()
    for view in group.views:
        for row in view.rounds:
            if row.lam is not None:
                numbers.append(row.round_num)
                shares.append(float(row.lam[np.isin(row.client_ids, view.malicious)].sum()))
    edges = bin_edges(max(numbers, default=0), _MOST_BINS)
    return [
        (group.name, *edge, mean, low, high)
        for edge, (low, mean, high) in zip(edges, binned(numbers, shares, edges), strict=True)
        if not math.isnan(mean)
    ]


def quarantine_tables(source: Source) -> tuple[Table, Table] | None:
    """Return how many replies did not count by reason, all of them, and the first ones singly.

    A reason counts without its numbers: "3 NaN in the update" and "5 NaN in the update" are one.
    """
    rows = [
        (group.name, view.seed, row.round_num, view.user_name(one.client_id), one.reason)
        for group in source.groups
        for view in group.views
        for row in view.rounds
        for one in row.quarantined
    ]
    if not rows:
        return None
    kinds = Counter((name, _NUMBER.sub("", reason)) for name, *_, reason in rows)
    return (
        Table(
            name="quarantine-reasons",
            title="How many replies did not count, by reason",
            columns=("run", "reason", "replies"),
            rows=tuple((*kind, count) for kind, count in kinds.items()),
        ),
        Table(
            name="quarantine",
            title="Replies that did not count, and why",
            columns=("run", "seed", "round", "user", "reason"),
            rows=tuple(rows[:_MOST_LINES]),
        ),
    )


def seconds_table(source: Source) -> Table | None:
    """Return the seconds of every phase, over all rounds and seeds of a group."""
    rows = list[Any]()
    for group in source.groups:
        sums, rounds = dict[str, float](), 0
        for view in group.views:
            rounds += len(view.timings)
            for line in view.timings:
                for phase, seconds in line.seconds.items():
                    sums[phase] = sums.get(phase, 0.0) + seconds
        rows += [(group.name, p, sums[p], sums[p] / rounds, rounds) for p in sums if rounds]
    if not rows:
        return None
    return Table(
        name="seconds",
        title="Where the time went",
        columns=("run", "phase", "seconds", "seconds a round", "rounds"),
        rows=tuple(rows),
    )
