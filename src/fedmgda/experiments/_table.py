"""The table of a sweep: one row per cell, mean and standard deviation over its seeds."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fedmgda.experiments._rows import Summary
    from fedmgda.experiments._sweep import PlannedRun

__all__ = ["COLUMNS", "Row", "cells", "columns_of", "sweep_rows", "to_csv", "to_markdown"]


def _of_accuracy(name: str) -> Callable[[Summary], float]:
    def value(summary: Summary) -> float:
        number = (summary.honest.accuracy or {}).get(name)
        return float("nan") if number is None else 100.0 * number

    return value


def _improved(summary: Summary) -> float:
    return float("nan") if summary.improved is None else summary.improved


COLUMNS: dict[str, Callable[[Summary], float]] = {
    "average %": _of_accuracy("average"),
    "std": _of_accuracy("std"),
    "worst 5 %": _of_accuracy("percentile_5"),
    "best 5 %": _of_accuracy("percentile_95"),
    "improved %": _improved,
}
"""What the table shows of a run, over honest users: percentiles as in the paper."""


def _of_protection(name: str) -> Callable[[Summary], float]:
    def value(summary: Summary) -> float:
        number = None if summary.protection is None else getattr(summary.protection, name)
        return float("nan") if number is None else number

    return value


_PROTECTED: dict[str, Callable[[Summary], float]] = {
    "improved with step %": _of_protection("improved_with_step"),
    "held %": _of_protection("share_held"),
    "overridden %": _of_protection("share_overridden"),
}
"""What it shows of runs whose steps are protected, in shares of their rounds."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell of a sweep.

    Attributes:
        cell: What distinguishes it.
        runs: How many seeds are finished.
        means: For each column the mean over seeds.
        stds: For each column the population standard deviation over seeds.
    """

    cell: Mapping[str, str]
    runs: int
    means: Mapping[str, float]
    stds: Mapping[str, float]


def sweep_rows(runs: Sequence[PlannedRun], summaries: Sequence[Summary | None]) -> list[Row]:
    """Group finished runs by cell; a cell without a finished run has a row of NaN."""
    groups: dict[tuple[tuple[str, str], ...], list[Summary]] = {}
    for run, summary in zip(runs, summaries, strict=True):
        group = groups.setdefault(tuple(run.cell.items()), [])
        if summary is not None:
            group.append(summary)
    protected = any(summary is not None and summary.protection is not None for summary in summaries)
    columns = COLUMNS | _PROTECTED if protected else COLUMNS
    rows = []
    for cell, group in groups.items():
        values = {name: [value(summary) for summary in group] for name, value in columns.items()}
        nan = float("nan")
        rows.append(
            Row(
                cell=dict(cell),
                runs=len(group),
                means={k: float(np.mean(v)) if v else nan for k, v in values.items()},
                stds={k: float(np.std(v)) if v else nan for k, v in values.items()},
            )
        )
    return rows


def columns_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of a table: those of `COLUMNS`, and more if a run in it is protected."""
    return tuple(rows[0].means if rows else COLUMNS)


def to_csv(rows: Sequence[Row]) -> str:
    """Write the table with full precision, mean and std of each column side by side."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = columns_of(rows)
    numbers = [f"{name} {kind}" for name in columns for kind in ("mean", "std over seeds")]
    writer.writerow([*(rows[0].cell if rows else ()), "seeds", *numbers])
    for row in rows:
        pairs = [value for name in columns for value in (row.means[name], row.stds[name])]
        writer.writerow([*row.cell.values(), row.runs, *pairs])
    return text.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """Write the table for people."""
    if not rows:
        return ""
    columns = columns_of(rows)
    lines = [[*rows[0].cell, "seeds", *columns]]
    for row in rows:
        labels = [" ".join(value.replace("|", "/").split()) for value in row.cell.values()]
        lines.append([*labels, str(row.runs), *cells(row)])
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    rule = "|" + "---|" * len(rows[0].cell) + "--:|" * (1 + len(columns))
    return "\n".join([head, rule, *body]) + "\n"


def cells(row: Row) -> list[str]:
    """Return the columns of a row as texts, with ± where there are several seeds."""
    texts = []
    for name in row.means:
        mean, std = row.means[name], row.stds[name]
        if np.isnan(mean):
            texts.append("-")
        else:
            texts.append(f"{mean:.1f} ± {std:.1f}" if row.runs > 1 else f"{mean:.1f}")
    return texts
