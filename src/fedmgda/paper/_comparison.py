"""Our numbers beside the paper's, line by line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.paper._metrics import measure
from fedmgda.paper._published import Number, published_number, published_row
from fedmgda.paper._result import by_cell
from fedmgda.paper._statistics import Spread, welch
from fedmgda.paper._verdict import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda.paper._result import Result
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["Line", "cell_name", "compare"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One metric of one row of the study.

    Attributes:
        cell: What distinguishes the row.
        metric: What is measured.
        values: For each seed its value.
        published: The paper's number; None if it prints none.
        verdict: Whether they agree.
    """

    cell: Mapping[str, str]
    metric: str
    values: Mapping[int, float]
    published: Number | None
    verdict: Verdict

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(list(self.values.values())))

    @property
    def std(self) -> float:
        """The population standard deviation over seeds, as in the paper."""
        return float(np.std(list(self.values.values())))

    @property
    def welch_p(self) -> float:
        """Of Welch's test against the published number; NaN where the two cannot be compared."""
        if self.published is None or self.verdict.word == "not comparable":
            return math.nan
        ours = Spread(mean=self.mean, std=self.std, n=len(self.values))
        theirs = self.published
        return welch(ours, Spread(mean=theirs.mean, std=theirs.pm, n=theirs.runs))

    @property
    def difference(self) -> float | None:
        """Ours minus the published number."""
        return None if self.published is None else self.mean - self.published.mean


def compare(
    study: Study, setting: Setting, results: Sequence[Result], metrics: Sequence[str] = ()
) -> list[Line]:
    """Return every metric of every row that has results, metric by metric.

    Args:
        study: The study.
        setting: How large it was run.
        results: Its runs.
        metrics: What is measured; empty for what the study lists.
    """
    groups = by_cell(results)
    lines = []
    for metric in metrics or study.metrics:
        for cell, group in groups.items():
            values = {r.run.seed: measure(r, metric, study.span) for r in group}
            variant = dict(cell).get("variant", "")
            published = published_number(study, variant, metric)
            obstacle = _obstacle(study, setting, group, metric)
            line = Line(
                cell=dict(cell), metric=metric, values=values, published=published,
                verdict=judge(float(np.mean(list(values.values()))), published, metric, obstacle),
            )  # fmt: skip
            lines.append(line)
    return lines


def cell_name(study: Study, cell: Mapping[str, str], without: str = "") -> str:
    """Return what a row is called: its variant, then the values of the grid."""
    parts = [
        value if key == "variant" else study.names.get(value, _named(key, value))
        for key, value in cell.items()
        if key != without
    ]
    return ", ".join(parts) or "all"


def _named(key: str, value: str) -> str:
    """Say a number with the key it belongs to, and leave a word as it is.

    >>> _named("rule.epsilon", "0.05"), _named("attack", "c = 10")
    ('epsilon 0.05', 'c = 10')
    """
    try:
        float(value)
    except ValueError:
        return value
    return f"{key.rsplit('.', 1)[-1]} {value}"


def _is_silent(change: str) -> bool:
    """Whether a changed key moves no published number: how it runs, or who improved.

    >>> _is_silent("evaluation.improved=false"), _is_silent("clients.client_lr=1")
    (True, False)
    """
    key = change.partition("=")[0].strip()
    return key.startswith("engine.") or key in {"evaluation.improved", "evaluation.improved_every"}


def _obstacle(study: Study, setting: Setting, group: Sequence[Result], metric: str) -> str:
    """Return why the paper's number is about something else than ours, or nothing."""
    if changed := [change for change in setting.changes if not _is_silent(change)]:
        return f"settings were changed ({', '.join(changed)})"
    row = published_row(study, group[0].cell.get("variant", ""))
    rounds = group[0].run.spec.rounds
    if row is not None and rounds != int(row["rounds"]):
        return f"published after {row['rounds']} rounds, ours after {rounds}"
    if not all(result.done for result in group):
        done = min(int(result.evaluated[-1]) for result in group)
        return f"ours has come to round {done} of {rounds}"
    users = len(group[0].users.clients)
    if study.users is not None and abs(users - study.users) > 0.01 * study.users:
        return f"published over {study.users} users, ours has {users}"
    return study.incomparable.get(setting.compat, {}).get(metric, "")
