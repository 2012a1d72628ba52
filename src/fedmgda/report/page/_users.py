"""How every user is served, with how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.metrics import METRICS
from fedmgda.report.page._table import Table

if TYPE_CHECKING:
    from fedmgda.experiments import ClientLine, RunScore
    from fedmgda.report.page._joined import Joined
    from fedmgda.report.page._source import Group, Source

__all__ = ["USERS", "users_table", "value_of"]

USERS = ("run", "user", "value", "low", "high", "test rows", "kind", "seeds")


def users_table(source: Source, measure: str, joined: Joined) -> Table | None:
    """Return every user of every run, its metric and the interval of that; None without any.

    Where runs were compared it is what the comparison says, else the record of the run: for an
    accuracy with Wilson's interval, for a loss with twice its standard error.
    """
    rows = list[Any]()
    for group in source.groups:
        scored = _score_of(group.name, joined)
        rows += _scored(group, scored, joined) if scored else _recorded(group, measure)
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


def _score_of(name: str, joined: Joined) -> RunScore | None:
    for pair in joined.pairs:
        if name == pair.ours:
            return pair.found.runs[0]
        if name == pair.theirs:
            return pair.found.runs[1]
    return None


def _scored(group: Group, score: RunScore, joined: Joined) -> list[Any]:
    view = group.first
    rows = next(pair.found.rows for pair in joined.pairs if group.name in {pair.ours, pair.theirs})
    return [
        (
            group.name, view.user_name(client), score.clients[client], score.low[client],
            score.high[client], rows[client], _kind(client, view.malicious), len(score.seeds),
        )
        for client in range(len(score.clients))
        if not math.isnan(score.clients[client])
    ]  # fmt: skip


def _recorded(group: Group, measure: str) -> list[Any]:
    lines: dict[int, list[ClientLine]] = {}
    for view in group.views:
        for line in view.lines:
            lines.setdefault(line.client_id, []).append(line)
    found: list[Any] = []
    for client, mine in sorted(lines.items()):
        value, low, high = np.mean([value_of(line, measure) for line in mine], axis=0).tolist()
        if math.isfinite(value):
            found.append(
                (
                    group.name, group.first.user_name(client), value, low, high,
                    sum(line.test_examples for line in mine),
                    _kind(client, group.first.malicious), len(mine),
                )
            )  # fmt: skip
    return found


def value_of(line: ClientLine, measure: str) -> tuple[float, float, float]:
    """Return the accuracy or loss of a user, and its 95 % interval; NaN where it is not known."""
    if measure == "accuracy":
        low, high = line.interval or (math.nan, math.nan)
        return line.accuracy, low, high
    return line.loss, line.loss - 2 * line.error, line.loss + 2 * line.error


def _kind(client: int, malicious: tuple[int, ...]) -> str:
    return "malicious" if client in malicious else "honest"
