"""How every user is served, with how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.metrics import METRICS
from fedmgda.report.page._table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.experiments import ClientLine
    from fedmgda.report.page._joined import Joined
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = ["USERS", "kind_of", "mean_of", "of_users", "users_table", "value_of"]

USERS = ("run", "user", "value", "low", "high", "test rows", "kind", "seeds")


def users_table(source: Source, measure: str, joined: Joined) -> Table | None:
    """Return every user of every run, its metric and the interval of that; None without any.

    Where runs were compared it is what the comparison says, else the record of the run: for an
    accuracy with Wilson's interval, for a loss with twice its standard error.
    """
    rows = list[Any]()
    for group in source.groups:
        rows += _scored(group, joined) or _recorded(group, measure)
    label = METRICS[joined.metric].label if joined.metric else f"test {measure}"
    if not rows:
        return None
    shares = METRICS[joined.metric].percent if joined.metric else measure == "accuracy"
    return Table(
        name="users",
        title=f"Every user's {label}",
        columns=USERS,
        rows=tuple(rows),
        percent=("value", "low", "high") if shares else (),
    )


def _scored(group: Group, joined: Joined) -> list[Any]:
    """Return what the first comparison with these runs says; nothing where there is none."""
    found = (
        (pair, pair.found.runs[place])
        for pair in joined.pairs
        for place, name in enumerate((pair.ours, pair.theirs))
        if name == group.name
    )
    pair, score = next(found, (None, None))
    if pair is None or score is None:
        return []
    seeds = 1 if pair.against.apart else len(score.seeds)
    lines = zip(pair.users, score.clients, score.low, score.high, pair.found.rows, strict=True)
    return [
        (group.name, user, value, low, high, rows, "honest", seeds)  # attackers are left out
        for user, value, low, high, rows in lines
        if not math.isnan(value)
    ]


def of_users(group: Group) -> dict[str, list[tuple[RunView, ClientLine]]]:
    """Return the runs of every user, by its name, with what is recorded of it there.

    One name is one user, see `RunView.user_name`.
    """
    found: dict[str, list[tuple[RunView, ClientLine]]] = {}
    for view in group.views:
        for line in sorted(view.lines, key=lambda one: one.client_id):
            found.setdefault(view.user_name(line.client_id), []).append((view, line))
    return found


def mean_of(lines: Sequence[ClientLine], measure: str) -> tuple[float, float, float]:
    """Return value and interval of one user, the mean over its runs."""
    value, low, high = np.mean([value_of(line, measure) for line in lines], axis=0).tolist()
    return value, low, high


def _recorded(group: Group, measure: str) -> list[Any]:
    found: list[Any] = []
    for user, mine in of_users(group).items():
        view, first = mine[0]
        lines = [line for _, line in mine]
        value, low, high = mean_of(lines, measure)
        if math.isfinite(value):
            rows = sum(line.test_examples for line in lines)
            kind = kind_of(view, first.client_id)
            found.append((group.name, user, value, low, high, rows, kind, len(lines)))
    return found


def value_of(line: ClientLine, measure: str) -> tuple[float, float, float]:
    """Return the accuracy or loss of a user, and its 95 % interval; NaN where it is not known."""
    if measure == "accuracy":
        low, high = line.interval or (math.nan, math.nan)
        return line.accuracy, low, high
    return line.loss, line.loss - 2 * line.error, line.loss + 2 * line.error


def kind_of(view: RunView, client_id: int) -> str:
    """Tell the honest from the others."""
    return "malicious" if client_id in view.malicious else "honest"
