"""The figures of a study, from what is published of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.paper._comparison import cell_name
from fedmgda.paper._metrics import METRICS
from fedmgda.paper._published import published_number, published_row
from fedmgda.report import (
    Dot,
    DotPanel,
    Panel,
    Series,
    Violin,
    draw_curves,
    draw_dots,
    draw_violins,
    series_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.paper._result import Result
    from fedmgda.paper._setting import Compat
    from fedmgda.paper._study import Study

__all__ = ["Measured", "Pictured", "draw_study"]

_FEW = 4  # curves beside which there is room for the published levels
_FOLLOWED = {"paper": "by the paper's text", "released-code": "by the released code"}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One metric of one row of a study, as its table has it.

    Attributes:
        cell: What distinguishes the row.
        metric: What is measured.
        seeds: How many seeds there are.
        mean: Over them.
        std: Their population standard deviation.
        published: The paper's number; None if it prints none.
    """

    cell: Mapping[str, str]
    metric: str
    seeds: int
    mean: float
    std: float
    published: float | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pictured:
    """What the figures of a study show.

    Attributes:
        compat: Whose word the runs follow.
        groups: Its runs, to the digits that are published; those of a group differ in their seed.
        rows: The rows of its table.
    """

    compat: Compat
    groups: Sequence[Sequence[Result]]
    rows: Sequence[Measured]


def draw_study(study: Study, shown: Pictured, folder: Path) -> list[Path]:
    """Draw what the study asks for; return the files, PNG and PDF of each figure."""
    files: list[Path] = []
    groups = shown.groups
    counts = {len(group) for group in groups}
    title = _title(study, shown.compat, counts)
    panels = [
        panel
        for kind in study.figures
        if kind in _DRAWN and groups
        for panel in _panels(study, kind, groups)
    ]
    if panels:
        bands = ", bands ± std over them" if max(counts) > 1 else ""
        path = folder / f"{study.name}-curves"
        files += draw_curves(panels, path, title=title + bands, columns=2)
    if "violins" in study.figures:
        files += _violins(study, groups, folder / f"{study.name}-violins", title)
    if "dots" in study.figures:
        files += _dots(study, shown, folder / f"{study.name}-dots")
    return files


def _title(study: Study, compat: Compat, counts: Iterable[int]) -> str:
    """Say what is shown: the study, whose word it follows if the paper has numbers, the seeds."""
    found = sorted(set(counts))
    followed = f", {_FOLLOWED[compat]}" if study.published else ""
    seeds = _seeds_text(found).replace(" ", "\N{NO-BREAK SPACE}") if found else "no seed"
    return f"{study.title}{followed}; {seeds}"


def _seeds_text(counts: Sequence[int]) -> str:
    """Say how many seeds there are, from an ascending list of what rows have.

    >>> _seeds_text([1]), _seeds_text([5]), _seeds_text([1, 3])
    ('one seed', '5 seeds', '1 to 3 seeds')
    """
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} seeds"
    return "one seed" if counts[0] == 1 else f"{counts[0]} seeds"


def _panels(study: Study, kind: str, groups: Sequence[Sequence[Result]]) -> list[Panel]:
    """Return one panel for each value of the key panels differ in."""
    values = dict.fromkeys(group[0].run.cell.get(study.panel, "") for group in groups)
    panels = []
    for value in values:
        chosen = [group for group in groups if group[0].run.cell.get(study.panel, "") == value]
        title, place = _TITLES[kind], study.names.get(value, value)
        panels.append(
            Panel(
                title=f"{title}, {place}" if place else title,
                x_label=_x_label(study, chosen),
                y_label=_Y_LABELS[kind],
                series=_curves(study, kind, chosen),
                percent=kind != "loss",
                log_y=kind == "loss",
                rising=kind in {"accuracy", "global"},
            )
        )
    return panels


def _x_label(study: Study, groups: Sequence[Sequence[Result]]) -> str:
    """Say that curves are smoothed, and what was planned where no run has come so far."""
    last = max(_last_round(result) for group in groups for result in group)
    planned = max(result.run.spec.rounds for group in groups for result in group)
    notes = [] if last >= planned else [f"the first {last} of {planned} planned"]
    notes += [f"smoothed, span {study.span}"] if study.span > 1 else []
    return f"round ({'; '.join(notes)})" if notes else "round"


def _last_round(result: Result) -> int:
    return int(result.evaluated[-1])


def _curves(study: Study, kind: str, groups: Sequence[Sequence[Result]]) -> tuple[Series, ...]:
    curves = [_DRAWN[kind](study, group) for group in groups]
    if kind == "accuracy" and len(groups) <= _FEW:
        curves += [level for group in groups if (level := _published_level(study, group))]
    return tuple(curves)


def _per_evaluation(
    read: Callable[[Result], Vector],
) -> Callable[[Study, Sequence[Result]], Series]:
    """Draw what was seen at every evaluation that all seeds have come to."""

    def series(study: Study, group: Sequence[Result]) -> Series:
        tables = [dict(zip(r.evaluated.tolist(), read(r), strict=True)) for r in group]
        rounds = sorted(set.intersection(*(set(table) for table in tables)))
        every = group[0].run.spec.evaluation.every
        runs = [[table[round_num] for round_num in rounds] for table in tables]
        name = cell_name(study, group[0].run.cell, without=study.panel)
        x = np.array(rounds, dtype=np.float64)
        return series_of_runs(name, x, runs, span=max(1.0, study.span / every))

    return series


def _published_level(study: Study, group: Sequence[Result]) -> Series | None:
    """Return the paper's final accuracy as a line as wide as our curve, with its ± as a band."""
    variant = group[0].run.cell.get("variant", "")
    number = published_number(study, variant, study.metrics[0])
    row = published_row(study, variant)
    if number is None or row is None:
        return None
    ends = np.array([0.0, float(max(map(_last_round, group)))])
    name = cell_name(study, group[0].run.cell, without=study.panel)
    label = f"{name}, published after {row['rounds']} rounds"
    return Series(label, ends, np.full(2, number.mean), np.full(2, number.pm), beside=name)


def _per_round(read: Callable[[Result], Vector]) -> Callable[[Study, Sequence[Result]], Series]:
    def series(study: Study, group: Sequence[Result]) -> Series:
        runs = [read(result) for result in group]
        length = min(len(run) for run in runs)
        name = cell_name(study, group[0].run.cell, without=study.panel)
        x = np.arange(1.0, length + 1.0)
        return series_of_runs(name, x, [run[:length] for run in runs], span=study.span)

    return series


_DRAWN: Mapping[str, Callable[[Study, Sequence[Result]], Series]] = {
    "accuracy": _per_evaluation(lambda result: result.average()),
    "global": _per_evaluation(lambda result: result.global_accuracy()),
    "loss": _per_round(lambda result: result.of_rounds("mean_local_losses")),
    "improved": _per_round(lambda result: result.of_rounds("improved")),
}
_TITLES = {
    "accuracy": "Average user accuracy",
    "global": "Accuracy on the official test set",
    "loss": "Training loss of the participants",
    "improved": "Improved participants",
}
_Y_LABELS = {
    "accuracy": "test accuracy", "global": "test accuracy", "loss": "mean loss",
    "improved": "share of the round",
}  # fmt: skip


def _violins(
    study: Study, groups: Sequence[Sequence[Result]], path: Path, title: str
) -> Sequence[Path]:
    violins = []
    for group in groups:
        values = np.concatenate([result.accuracies(honest=True)[0] for result in group])
        if len(values):
            violins.append(Violin(cell_name(study, group[0].run.cell), values))
    y_label = "test accuracy of a user, %"
    return draw_violins(violins, path, title=title, y_label=y_label) if violins else ()


def _dots(study: Study, shown: Pictured, path: Path) -> Sequence[Path]:
    """Draw one panel per metric, or the first metric with one panel per value of the grid."""
    by_metric = study.group == "metric"
    rows = [
        row
        for row in shown.rows
        if np.isfinite(row.mean) and (by_metric or row.metric == study.metrics[0])
    ]
    panels: dict[str, list[Dot]] = {}
    for row in rows:
        label = METRICS[row.metric].removesuffix(", %") if by_metric else row.cell[study.group]
        name = cell_name(study, row.cell, without=study.group)
        std = row.std if row.seeds > 1 else None
        panels.setdefault(label, []).append(Dot(name, row.mean, std, row.published))
    drawn = [DotPanel(label, tuple(dots)) for label, dots in panels.items()]
    x_label = "test accuracy, %" if by_metric else METRICS[study.metrics[0]]
    title = _title(study, shown.compat, (row.seeds for row in rows))
    columns = len(drawn) if by_metric else 1  # one axis for all, where outliers make it long
    return draw_dots(drawn, path, title=title, x_label=x_label, columns=columns) if drawn else ()
