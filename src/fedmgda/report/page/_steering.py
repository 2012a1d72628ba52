"""Who steers and who blocks: λ by client and round, and whom rounds went against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.report.page._table import Table, bin_edges

if TYPE_CHECKING:
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = ["blocking_table", "steering_table"]

_MOST_BINS = 100  # of rounds
_MOST_CLIENTS = 120  # of a heat map
_MOST_GROUPS = 12  # that have one
_MOST_BLOCKING = 400  # rows of the table


def steering_table(source: Source) -> Table | None:
    """Return the mean λ of every client in bins of rounds, of the first seed of every group.

    A client that took part in no round of a bin has no row there. Of many clients those that
    steer most are kept.
    """
    rows = list[Any]()
    for group in source.federated[:_MOST_GROUPS]:
        rows += _steering(group)
    if not rows:
        return None
    return Table(
        name="steering",
        title="Mean λ of a client over its rounds in a span of rounds",
        columns=("run", "user", "first round", "last round", "lambda", "rounds"),
        rows=tuple(rows),
    )


def _steering(group: Group) -> list[Any]:
    view = group.first
    edges = bin_edges(len(view.rounds), _MOST_BINS)
    width = edges[0][1] if edges else 1
    sums, counts = dict[tuple[int, int], float](), dict[tuple[int, int], int]()
    for row in view.rounds:
        if row.lam is None:
            continue
        place = (row.round_num - 1) // width
        for client, lam in zip(row.client_ids, row.lam.tolist(), strict=True):
            key = (client, place)
            sums[key] = sums.get(key, 0.0) + lam
            counts[key] = counts.get(key, 0) + 1
    total = dict[int, float]()
    for (client, _), lam in sums.items():
        total[client] = total.get(client, 0.0) + lam
    kept = set(sorted(total, key=lambda client: -total[client])[:_MOST_CLIENTS])
    return [
        (
            group.name, view.user_name(client), *edges[place], sums[client, place] / count,
            count,
        )
        for (client, place), count in sorted(counts.items())
        if client in kept and place < len(edges)
    ]  # fmt: skip


_KINDS = {
    "rounds_sacrificed": "the step went against it",
    "rounds_opposed": "it opposed a length that was tried",
    "rounds_overridden": "its loss rose, as allowed",
    "rounds_stalled": "the updates cancelled",
}


def blocking_table(source: Source) -> Table | None:
    """Return, for each client, the rounds that went against it and those it opposed."""
    rows = list[Any]()
    for group in source.federated:
        rows += _blocking(group.first, group.name)
    if not rows:
        return None
    rows.sort(key=lambda row: -row[3])
    return Table(
        name="blocking",
        title="Rounds that went against a client, or that it opposed",
        columns=("run", "user", "what", "rounds", "of its rounds"),
        rows=tuple(rows[:_MOST_BLOCKING]),
    )


def _blocking(view: RunView, name: str) -> list[Any]:
    protected = view.run.spec.server.protect is not None
    found = []
    for key, what in _KINDS.items():
        if protected and key == "rounds_sacrificed":
            continue  # the direction was only proposed: what counts is the step that was made
        counts = np.array([getattr(client, key) or 0 for client in view.clients])
        found += [
            (name, view.user_name(int(i)), what, int(counts[i]), view.clients[i].rounds)
            for i in np.flatnonzero(counts)
        ]
    return found
