"""The checks as a table, as numbers and as a figure."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._files import make_folder, write_file
from fedmgda.report import Panel, Series, draw_curves

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.paper.theory._check import BoundCurve, Check

__all__ = ["write_theory"]

_DECADES = 8
"""How far below the bound a curve is drawn; further down there is only rounding."""


def write_theory(checks: Sequence[Check], folder: Path) -> tuple[Path, ...]:
    """Write `theory.md`, the curves as `theory.csv`, and a figure of measured against bound.

    Args:
        checks: From `theory_checks`.
        folder: Made if it is missing.

    Returns:
        The files: the table, the numbers, and the figure as PNG and PDF if there is a curve.

    Raises:
        StoreError: If the folder cannot be written.
    """
    make_folder(folder)
    table, numbers = folder / "theory.md", folder / "theory.csv"
    write_file(table, theory_table(checks).encode())
    curves = [(row, check) for row, check in enumerate(checks, 1) if check.curve is not None]
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(("row", "axis", "x", "quantity", "measured", "bound"))
    for row, check in curves:
        for point in zip(*(check.curve or ()), strict=True):
            x, measured, bound = (f"{value:.10g}" for value in point)
            writer.writerow((row, check.axes[0], x, check.axes[1], measured, bound))
    write_file(numbers, lines.getvalue().encode())
    if not curves:
        return table, numbers
    panels = [_panel(row, check, check.curve) for row, check in curves if check.curve]
    title = "What was measured and what the theorems promise (numbers: rows of the table)"
    return table, numbers, *draw_curves(panels, folder / "theory", title=title, columns=3)


def theory_table(checks: Sequence[Check]) -> str:
    """Return a Markdown table, one row per check, below two sentences that count them."""
    ours = [check for check in checks if not check.as_printed]
    printed = [check for check in checks if check.as_printed]
    doubted = f"{_count(printed)} of {len(printed)} statements that are doubted"
    lines = [
        f"{_count(ours)} of {len(ours)} claims hold, misprints corrected.",
        f"{doubted} hold as the paper has them.",
        "",
        "| | claim | where | tried on | measured | | bound | holds |",
        "|--:|---|---|---|--:|:-:|--:|---|",
    ]
    lines += [
        f"| {row} | {check.claim} | {check.where} | {check.problem} | {check.measured:.4g} "
        f"| {check.relation} | {check.bound:.4g} | {'yes' if check.holds else '**no**'} |"
        for row, check in enumerate(checks, 1)
    ]
    return "\n".join(lines) + "\n"


def _count(checks: Sequence[Check]) -> int:
    return sum(check.holds for check in checks)


def _panel(row: int, check: Check, curve: BoundCurve) -> Panel:
    name = check.where.partition(",")[0].partition(" (")[0]
    floor = 10.0**-_DECADES * float(curve.bound.max())
    return Panel(
        title=f"{row}. {name}{', as printed' if check.as_printed else ''}",
        x_label=check.axes[0],
        y_label=check.axes[1],
        series=(
            Series("measured", curve.x, _above(curve.measured, floor), None),
            Series("bound", curve.x, curve.bound, None),
        ),
        log_x=True,
        log_y=True,
    )


def _above(values: Vector, floor: float) -> Vector:
    return np.where(values >= floor, values, np.nan)
