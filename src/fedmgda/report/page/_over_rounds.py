"""What changes from round to round, the mean over seeds with the lowest and highest of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.metrics import smoothed
from fedmgda.report.page._table import Table, bin_edges, binned, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fedmgda.experiments import EvaluationRow, RoundRow
    from fedmgda.report.page._run_view import RunView
    from fedmgda.report.page._source import Group, Source

__all__ = [
    "average_table",
    "certificate_table",
    "idle_table",
    "improved_table",
    "pareto_table",
]

_MOST_POINTS = 160  # of a curve
_MOST_BINS = 120  # of rounds
_SPAN = 50.0  # of the paper's figures, for values of every round
_CURVE = ("run", "measure", "round", "mean", "low", "high", "seeds")


def average_table(source: Source, measure: str) -> Table | None:
    """Return the average user and the worst 5 % at every evaluation."""
    worst = "percentile_5" if measure == "accuracy" else "percentile_95"

    def of(key: str) -> Callable[[EvaluationRow], float | None]:
        return lambda row: (getattr(row.honest, measure) or {}).get(key)

    return _evaluated(
        source,
        Table(
            name="rounds",
            title=f"Test {measure} of the average user and of the worst 5 %, over rounds",
            columns=_CURVE,
            rows=(),
            percent=("mean", "low", "high") if measure == "accuracy" else (),
        ),
        {"average": of("average"), "worst 5 %": of(worst)},
    )


def pareto_table(source: Source) -> Table | None:
    """Return min ‖Jλ‖ over the gradients of all users, where it was measured."""
    table = Table(
        name="pareto", title="Pareto residual min ‖Jλ‖ over rounds", columns=_CURVE, rows=()
    )
    return _evaluated(source, table, {"residual": lambda row: row.pareto_residual})


def _evaluated(
    source: Source, table: Table, measures: Mapping[str, Callable[[EvaluationRow], float | None]]
) -> Table | None:
    rows = list[Any]()
    for group in source.groups:
        by_seed = [
            {row.round_num: row for row in view.evaluations}
            for view in group.views
            if view.evaluations and view.run.spec.baseline != "alone"
        ]
        numbers = sorted(set[int]().union(*by_seed))
        for name, value in measures.items():
            for place in thinned(len(numbers), _MOST_POINTS):
                number = numbers[place]
                found = [value(seed[number]) for seed in by_seed if number in seed]
                rows += _over_seeds(group, name, number, found)
    return _filled(table, rows)


def _over_seeds(
    group: Group, measure: str, number: int, found: list[float | None]
) -> Iterator[tuple[Any, ...]]:
    known = [value for value in found if value is not None and math.isfinite(value)]
    if known:
        mean = float(np.mean(known))
        yield group.name, measure, number, mean, min(known), max(known), len(known)


def improved_table(source: Source) -> Table | None:
    """Return the share of participants that a round left no worse off, smoothed as in the paper."""
    rows = list[Any]()
    for group in source.federated:
        curves = {}
        for view in group.views:
            measured = [math.nan if r.improved is None else r.improved for r in view.rounds]
            if not all(map(math.isnan, measured)):
                curves[view.seed] = smoothed(measured, _SPAN)
        longest = max(map(len, curves.values()), default=0)
        for place in thinned(longest, _MOST_POINTS):
            found = [float(curve[place]) for curve in curves.values() if place < len(curve)]
            rows += _over_seeds(group, "improved", place + 1, [*found])
    table = Table(
        name="improved",
        title="Participants whose training loss a round did not raise, in percent, "
        f"smoothed over {_SPAN:g} rounds as in the paper",
        columns=_CURVE,
        rows=(),
    )
    return _filled(table, rows)


_IDLE: Mapping[str, Callable[[RoundRow], bool]] = {
    "held": lambda row: bool(row.held),
    "stalled": lambda row: bool(row.stalled),
    "failed": lambda row: row.failed is not None,
    "against somebody": lambda row: bool(row.sacrificed) and row.protection is None,
}


def idle_table(source: Source) -> Table | None:
    """Return the share of rounds in which nothing moved, or the step went against somebody."""
    rows = list[Any]()
    for group in source.federated:
        last = max((len(view.rounds) for view in group.views), default=0)
        for kind, happened in _IDLE.items():
            if not any(happened(row) for view in group.views for row in view.rounds):
                continue
            for first, end in bin_edges(last, _MOST_BINS):
                part = [r for v in group.views for r in v.rounds[first - 1 : end]]
                count = sum(map(happened, part))
                if part:
                    rows.append((group.name, kind, first, end, count, 100 * count / len(part)))
    table = Table(
        name="idle",
        title="Rounds that were held, stalled, failed, or went against a participant",
        columns=("run", "kind", "first round", "last round", "rounds", "percent"),
        rows=(),
    )
    return _filled(table, rows)


_PARTS: Mapping[str, Callable[[RoundRow], float | None]] = {
    "norm": lambda row: row.norm,
    "min_inner": lambda row: row.min_inner,
    "gap": lambda row: row.gap,
    "omega": lambda row: None if row.protection is None else row.protection.omega,
}


def certificate_table(source: Source) -> Table | None:
    """Return least, mean and largest of ‖d‖, min ⟨g_i, d⟩, the gap and ω in bins of rounds."""
    rows = list[Any]()
    for group in source.federated:
        last = max((len(view.rounds) for view in group.views), default=0)
        edges = bin_edges(last, _MOST_BINS)
        for part, value in _PARTS.items():
            numbers, values = _of_all(group.views, value)
            if not np.isfinite(values).any():
                continue
            found = zip(edges, binned(numbers, values, edges), strict=True)
            rows += [
                (group.name, part, first, end, mean, low, high)
                for (first, end), (low, mean, high) in found
                if not math.isnan(mean)
            ]
    table = Table(
        name="certificate",
        title="The certificate of every round",
        columns=("run", "part", "first round", "last round", "mean", "low", "high"),
        rows=(),
    )
    return _filled(table, rows)


def _of_all(
    views: tuple[RunView, ...], value: Callable[[RoundRow], float | None]
) -> tuple[list[int], list[float]]:
    numbers, values = list[int](), list[float]()
    for view in views:
        for row in view.rounds:
            found = value(row)
            numbers.append(row.round_num)
            values.append(math.nan if found is None else found)
    return numbers, values


def _filled(table: Table, rows: list[Any]) -> Table | None:
    if not rows:
        return None
    return replace(table, rows=tuple(rows))
