"""The figures of a study, from the records of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.paper._comparison import cell_name
from fedmgda.paper._metrics import METRICS
from fedmgda.paper._published import published_number
from fedmgda.paper._result import by_cell, known_mean
from fedmgda.report import (
    Bar,
    BarGroup,
    Panel,
    Series,
    Violin,
    draw_bars,
    draw_curves,
    draw_violins,
    series_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.experiments import EvaluationRow
    from fedmgda.paper._comparison import Line
    from fedmgda.paper._result import Result
    from fedmgda.paper._study import Study

__all__ = ["draw_study"]

_FEW = 4  # curves beside which there is room for the published levels


def draw_study(
    study: Study, results: Sequence[Result], lines: Sequence[Line], folder: Path
) -> list[Path]:
    """Draw what the study asks for; return the files, PNG and PDF of each figure."""
    groups = [group for group in by_cell(results).values() if group]
    files: list[Path] = []
    if not groups:
        return files
    panels = [
        panel
        for kind in study.figures
        if kind in {"accuracy", "loss", "improved"}
        for panel in _panels(study, kind, groups)
    ]
    if panels:
        path = folder / f"{study.name}-curves"
        files += draw_curves(panels, path, title=study.title, columns=2)
    if "violins" in study.figures:
        files += _violins(study, groups, folder / f"{study.name}-violins")
    if "bars" in study.figures:
        files += _bars(study, lines, folder / f"{study.name}-bars")
    return files


def _panels(study: Study, kind: str, groups: Sequence[Sequence[Result]]) -> list[Panel]:
    """Return one panel for each value of the key panels differ in."""
    values = dict.fromkeys(group[0].cell.get(study.panel, "") for group in groups)
    panels = []
    for value in values:
        chosen = [group for group in groups if group[0].cell.get(study.panel, "") == value]
        title, place = _TITLES[kind], study.names.get(value, value)
        panels.append(
            Panel(
                title=f"{title}, {place}" if place else title,
                x_label="round",
                y_label=_Y_LABELS[kind],
                series=_curves(study, kind, chosen),
                percent=kind != "loss",
                log_y=kind == "loss",
            )
        )
    return panels


def _curves(study: Study, kind: str, groups: Sequence[Sequence[Result]]) -> tuple[Series, ...]:
    curves = [_DRAWN[kind](study, group) for group in groups]
    if kind == "accuracy" and len(groups) <= _FEW:
        curves += [level for group in groups if (level := _published_level(study, group[0]))]
    return tuple(curves)


def _accuracy(study: Study, group: Sequence[Result]) -> Series:
    """Return the average user accuracy at every evaluation all seeds have come to."""
    tables = [{e.round_num: _average(e) for e in result.evaluations} for result in group]
    rounds = sorted(set.intersection(*(set(table) for table in tables)))
    every = group[0].run.spec.evaluation.every
    runs = [[table[round_num] for round_num in rounds] for table in tables]
    name = cell_name(study, group[0].cell, without=study.panel)
    x = np.array(rounds, dtype=np.float64)
    return series_of_runs(name, x, runs, span=max(1.0, study.span / every))


def _average(evaluation: EvaluationRow) -> float:
    known = known_mean(evaluation.accuracies)
    return float("nan") if known is None else 100.0 * known


def _published_level(study: Study, result: Result) -> Series | None:
    """Return the paper's final accuracy as a line across the panel, with its ± as a band."""
    number = published_number(study, result.cell.get("variant", ""), study.metrics[0])
    if number is None:
        return None
    ends = np.array([0.0, float(result.run.spec.rounds)])
    name = cell_name(study, result.cell, without=study.panel)
    label = f"{name}, published at the end"
    return Series(label, ends, np.full(2, number.mean), np.full(2, number.pm), beside=name)


def _per_round(read: Callable[[Result], Vector]) -> Callable[[Study, Sequence[Result]], Series]:
    def series(study: Study, group: Sequence[Result]) -> Series:
        runs = [read(result) for result in group]
        length = min(len(run) for run in runs)
        name = cell_name(study, group[0].cell, without=study.panel)
        x = np.arange(1.0, length + 1.0)
        return series_of_runs(name, x, [run[:length] for run in runs], span=study.span)

    return series


_DRAWN: Mapping[str, Callable[[Study, Sequence[Result]], Series]] = {
    "accuracy": _accuracy,
    "loss": _per_round(lambda result: result.training_losses()),
    "improved": _per_round(lambda result: result.improved()),
}
_TITLES = {
    "accuracy": "Average user accuracy",
    "loss": "Training loss of the participants",
    "improved": "Improved participants",
}
_Y_LABELS = {"accuracy": "test accuracy", "loss": "mean loss", "improved": "share of the round"}


def _violins(study: Study, groups: Sequence[Sequence[Result]], path: Path) -> Sequence[Path]:
    violins = []
    for group in groups:
        values = np.concatenate([result.accuracies(honest=True)[0] for result in group])
        if len(values):
            violins.append(Violin(cell_name(study, group[0].cell), values))
    return draw_violins(violins, path, title=study.title) if violins else ()


def _bars(study: Study, lines: Sequence[Line], path: Path) -> Sequence[Path]:
    """Draw one group per metric, or the first metric with one group per value of the grid."""
    by_metric = study.group == "metric"
    chosen = [line for line in lines if by_metric or line.metric == study.metrics[0]]
    groups: dict[str, list[Bar]] = {}
    for line in chosen:
        label = METRICS[line.metric] if by_metric else line.cell[study.group]
        name = cell_name(study, line.cell, without=study.group)
        published = line.published.mean if line.published else None
        if np.isfinite(line.mean):
            groups.setdefault(label, []).append(Bar(name, line.mean, line.std, published))
    drawn = [BarGroup(label, tuple(bars)) for label, bars in groups.items()]
    y_label = "test accuracy, %" if by_metric else METRICS[study.metrics[0]]
    return draw_bars(drawn, path, title=study.title, y_label=y_label) if drawn else ()
