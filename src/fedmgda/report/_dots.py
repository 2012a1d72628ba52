"""Dots with their spread over seeds: one row per method, one panel per setting."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

from fedmgda.report._style import COLORS, figure_style, fitted, legend_below, save_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Dot", "DotPanel", "draw_dots"]

_PUBLISHED = "published in the paper"
_SEVERAL = "mean ± standard deviation over seeds"
_ONE = "one seed"
_WIDTH = 6.5


@final
@dataclass(frozen=True, slots=True)
class Dot:
    """One value.

    Attributes:
        label: The name of the method; the same name has the same row in every panel.
        mean: Where the dot stands.
        std: Half the length of its interval; None if there is one seed, which has no spread: the
            dot is then hollow.
        published: The paper's value, drawn as a diamond; None draws none.
    """

    label: str
    mean: float
    std: float | None
    published: float | None = None


@final
@dataclass(frozen=True, slots=True)
class DotPanel:
    """The dots of one setting, and its name above them."""

    title: str
    dots: tuple[Dot, ...]


def draw_dots(
    panels: Sequence[DotPanel],
    path: Path,
    *,
    title: str = "",
    x_label: str = "test accuracy, %",
    columns: int = 1,
) -> tuple[Path, Path]:
    """Draw panels of dots with one legend below; all share their rows and their axis.

    A row that a panel has no dot for says so. Rows whose names differ in a last number only stand
    together, apart from the others.

    Args:
        panels: At least one with a dot, in reading order.
        path: Where, without a suffix.
        title: Above all panels.
        x_label: Below all panels.
        columns: How many panels stand side by side.

    Returns:
        The PNG and the PDF.

    Raises:
        ValueError: If there is no dot.
    """
    rows = list(dict.fromkeys(dot.label for panel in panels for dot in panel.dots))
    if not rows:
        raise ValueError(f"panels must hold at least one dot, got none for {path.name}.")
    wide = min(columns, len(panels))
    high = -(-len(panels) // wide)
    with figure_style() as library:
        width = max(0.07 * max(map(len, rows)) + 0.2 + 2.3 * wide, _WIDTH)
        size = (width, (0.2 * len(rows) + 0.35) * high + 0.75)
        figure = library.Figure(figsize=size, layout="constrained")
        grid = figure.subplots(high, wide, squeeze=False, sharex=True, sharey=True).ravel()
        handles: dict[str, Any] = {}
        for axes, panel in zip(grid, panels, strict=False):
            handles |= _draw_panel(axes, panel, rows)
        for axes in grid[len(panels) :]:
            axes.remove()
        grid[0].set_ylim(len(rows) - 0.4, -0.6)  # shared; the first row is on top
        for axes in grid[max(len(panels) - wide, 0) : len(panels)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(fitted(x_label, width / wide - 1.0))
        figure.suptitle(fitted(title, width))
        shown = [name for name in (_SEVERAL, _ONE, _PUBLISHED) if name in handles]
        legend_below(figure, [handles[name] for name in shown], shown)
        return save_figure(figure, path)


def _draw_panel(axes: Any, panel: DotPanel, rows: Sequence[str]) -> dict[str, Any]:
    axes.set_title(fitted(panel.title, 2.2))
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_axisbelow(True)
    for place in _borders(rows):
        axes.axhline(place, color="#999999", lw=0.6)
    handles: dict[str, Any] = {}
    for dot in panel.dots:
        handles |= _draw_dot(axes, rows.index(dot.label), dot)
    for label in {*rows} - {dot.label for dot in panel.dots}:
        axes.text(
            0.02, rows.index(label), "not run", transform=axes.get_yaxis_transform(),
            va="center", color="#777777", fontsize=8, style="italic",
        )  # fmt: skip
    return handles


def _draw_dot(axes: Any, place: int, dot: Dot) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    look: dict[str, Any] = {"color": COLORS[0], "ms": 5.0, "ls": "", "zorder": 3.0}
    if dot.std is None:
        (handles[_ONE],) = axes.plot(dot.mean, place, "o", mfc="white", mew=1.3, **look)
    else:
        handles[_SEVERAL] = axes.errorbar(
            dot.mean, place, xerr=dot.std, fmt="o", elinewidth=1.4, capsize=2.5, **look
        )
    if dot.published is not None:
        (handles[_PUBLISHED],) = axes.plot(
            dot.published, place, "D", ms=4.5, mfc="none", mec="#222222", ls="", zorder=4
        )
    return handles


def _borders(rows: Sequence[str]) -> list[float]:
    """Return where a family of several rows begins or ends.

    >>> _borders(["AFL bias 0", "AFL bias 1", "FedAvg", "FedAvg-n"]), _borders(["FedAvg", "AFL"])
    ([1.5], [])
    """
    families = [re.sub(r" [\d.]+$", "", row) for row in rows]
    counts = Counter(families)
    return [
        place + 0.5
        for place, (above, below) in enumerate(pairwise(families))
        if above != below and max(counts[above], counts[below]) > 1
    ]
