"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table

from fedmgda.cli._console import escape, out
from fedmgda.experiments import cells, columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.experiments import Row, Summary

__all__ = ["rows_table", "summary_table"]

_WIDEST = 10_000  # cells: no terminal cuts a table of this width


def rows_table(rows: Sequence[Row]) -> Table:
    """Show a sweep: one line per cell, with as many columns as the terminal has room for."""
    shown = list(columns_of(rows))
    for expendable in ("improved with step %", "best 5 %", "std", "worst 5 %"):
        if expendable in shown and _width(_rows_table(rows, shown)) > out.width:
            shown.remove(expendable)
    return _rows_table(rows, shown)


def _width(table: Table) -> int:
    """Return the cells that a table takes where there is room for all of it."""
    return Measurement.get(out, out.options.update(width=_WIDEST), table).maximum


def _rows_table(rows: Sequence[Row], shown: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in rows[0].cell if rows else ():
        table.add_column(escape(name), no_wrap=True)
    unequal = len({row.runs for row in rows}) > 1  # a cell whose runs did not all finish
    for name in (["seeds"] if unequal else []) + list(shown):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        values = dict(zip(columns_of(rows), cells(row), strict=True))
        numbers = ([str(row.runs)] if unequal else []) + [values[name] for name in shown]
        table.add_row(*(escape(value) for value in row.cell.values()), *numbers)
    return table


def summary_table(summary: Summary) -> Table:
    """Show one finished run: how its users are served, and how they were treated on the way."""
    table = Table(title=_title(summary), title_justify="left", box=None, pad_edge=False)
    for name in ("users", "measure", "average", "std", "worst 5 %", "best 5 %", "min", "max"):
        table.add_column(name, justify="left" if name in {"users", "measure"} else "right")
    for name, group in (("honest", summary.honest), ("all", summary.all_users)):
        if group is None:
            continue
        for measure, values in (("accuracy", group.accuracy), ("loss", group.loss)):
            if values is not None:
                # A small loss is a good one: the worst users are at the other end.
                tails = ("percentile_5", "percentile_95")
                worst, best = tails if measure == "accuracy" else tails[::-1]
                keys = ("average", "std", worst, best, "min", "max")
                numbers = [_number(measure, values[key]) for key in keys]
                table.add_row(f"{group.users} {name}", measure, *numbers)
    table.caption = _caption(summary)
    table.caption_justify = "left"
    return table


def _title(summary: Summary) -> str:
    title = f"After round {summary.round_num}"
    if summary.selected_round is not None:
        title += ", the best by validation"
    if summary.protection is not None and summary.protection.ended_stationary:
        return f"{title}; the run ended as stationary"
    return f"{title}; the run was ended early" if summary.stopped_early else title


def _number(measure: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if measure == "accuracy" else f"{value:.3g}"


def _caption(summary: Summary) -> str | None:
    if summary.improved is None:
        return None
    protection = summary.protection
    if protection is not None:
        told = f"Participants improved, as measured: {summary.improved:.1f} %"
        if not protection.rounds_with_step:
            return f"{told} (no step was made)."
        stepped = protection.improved_with_step
        return f"{told}." if stepped is None else f"{told} (with a step {stepped:.1f} %)."
    return f"In a round, {summary.improved:.1f} % of participants had no higher training loss."
