"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from fedmgda.experiments import COLUMNS, cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.experiments import Row

__all__ = ["rows_table", "summary_table"]


def rows_table(rows: Sequence[Row], title: str | None = None) -> Table:
    """Show a sweep: one line per cell."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in rows[0].cell if rows else ():
        table.add_column(name)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row.cell.values(), *cells(row))
    return table


def summary_table(summary: dict[str, Any]) -> Table:
    """Show one finished run: how its users are served, and how they were treated on the way."""
    table = Table(title=f"After round {summary['round']}", title_justify="left", box=None)
    for name in ("users", "measure", "average", "std", "worst 5 %", "best 5 %", "min", "max"):
        table.add_column(name, justify="left" if name in {"users", "measure"} else "right")
    for group in ("honest", "all"):
        if group not in summary:
            continue
        for measure, scale in (("accuracy", 100.0), ("loss", 1.0)):
            if (values := summary[group][measure]) is not None:
                keys = ("average", "std", "percentile_5", "percentile_95", "min", "max")
                numbers = [f"{scale * values[key]:.4g}" for key in keys]
                label = f"{group} ({summary[group]['users']})"
                table.add_row(label, measure + (" %" if scale > 1 else ""), *numbers)
    table.caption = _caption(summary)
    table.caption_justify = "left"
    return table


def _caption(summary: dict[str, Any]) -> str:
    parts = []
    if summary["improved"] is not None:
        parts.append(f"{summary['improved']:.1f} % of participants improved, on average")
    parts.append(f"{summary['rounds_that_sacrificed']} rounds sacrificed somebody")
    for key, text in (("rounds_failed", "rounds failed"), ("quarantined", "replies quarantined")):
        if summary[key]:
            parts.append(f"{summary[key]} {text}")
    return "; ".join(parts) + "."
