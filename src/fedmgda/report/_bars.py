"""Bars grouped by setting, one colour per method, with the published value beside ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from fedmgda.report._style import (
    COLORS,
    figure_style,
    fitted,
    legend_below,
    places,
    save_figure,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Bar", "BarGroup", "draw_bars"]

_HATCHES = ("", "////", "....", "xxxx")
_PUBLISHED = "published in the paper"


@final
@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        label: The name of the method; the same name has the same colour in every group.
        mean: Its height.
        std: Half the length of the error bar.
        published: The paper's value, drawn as a diamond beside the error bar; None draws none.
    """

    label: str
    mean: float
    std: float
    published: float | None = None


@final
@dataclass(frozen=True, slots=True)
class BarGroup:
    """The bars of one setting, from left to right, with its name below them."""

    label: str
    bars: tuple[Bar, ...]


def draw_bars(
    groups: Sequence[BarGroup], path: Path, *, title: str = "", y_label: str = "test accuracy, %"
) -> tuple[Path, Path]:
    """Draw groups of bars with error bars and one legend below.

    Heights start at zero where they differ much. Where all lie close together the axis is cut so
    that differences can be seen, and its label says so.

    Args:
        groups: At least one with a bar, from left to right.
        path: Where, without a suffix.
        title: Above the axes.
        y_label: Beside the axes.

    Returns:
        The PNG and the PDF.

    Raises:
        ValueError: If there is no bar.
    """
    bars = [bar for group in groups for bar in group.bars]
    if not bars:
        raise ValueError(f"groups must hold at least one bar, got none for {path.name}.")
    order = places(bar.label for bar in bars)
    with figure_style() as library:
        width = min(max(5.2, 0.8 + 0.3 * len(bars) + 0.45 * len(groups)), 13.0)
        figure = library.Figure(figsize=(width, 3.2), layout="constrained")
        axes = figure.subplots()
        handles, centers = _draw_groups(axes, groups, order)
        axes.set_xticks(centers, [wrapped(group.label) for group in groups])
        axes.grid(visible=False, axis="x")
        axes.set_axisbelow(True)
        bottom = _bottom(bars)
        axes.set_ylim(bottom=bottom)
        cut = f"\n(the axis starts at {bottom:g})" if bottom > 0.0 else ""
        axes.set(title=fitted(title, width - 0.8), ylabel=y_label + cut)
        legend_below(figure, list(handles.values()), list(handles))
        return save_figure(figure, path)


def _draw_groups(
    axes: Any, groups: Sequence[BarGroup], order: Mapping[str, int]
) -> tuple[dict[str, Any], list[float]]:
    """Draw every bar one unit wide and leave a unit between groups."""
    handles: dict[str, Any] = {}
    centers, marks, start = [], [], 0
    for group in groups:
        for position, bar in enumerate(group.bars, start):
            handles[bar.label] = _draw_bar(axes, position, bar, order[bar.label])
            if bar.published is not None:
                marks.append((position + 0.28, bar.published))
        centers.append(start + (len(group.bars) - 1) / 2)
        start += len(group.bars) + 1
    handles = {label: handles[label] for label in order}
    if marks:
        (handles[_PUBLISHED],) = axes.plot(
            *zip(*marks, strict=True), "D", ms=4.5, mfc="white", mec="#222222", ls="", zorder=5
        )
    return handles, centers


def _draw_bar(axes: Any, position: float, bar: Bar, place: int) -> Any:
    return axes.bar(
        position,
        bar.mean,
        yerr=bar.std,
        width=0.86,
        color=COLORS[place % len(COLORS)],
        hatch=_HATCHES[place // len(COLORS) % len(_HATCHES)],
        edgecolor="white",
        lw=0,
        error_kw={"lw": 1.0, "capsize": 2.5, "ecolor": "#222222"},
        label=bar.label,
    )


def _bottom(bars: Sequence[Bar]) -> float:
    values = [bar.mean - bar.std for bar in bars] + [bar.mean + bar.std for bar in bars]
    values += [bar.published for bar in bars if bar.published is not None]
    low, high = min(values), max(values)
    if low <= 0.0 or low < 0.5 * high:
        return min(low * 1.05, 0.0)
    room = max(high - low, 0.02 * high)
    unit = 10.0 ** math.floor(math.log10(room))
    return math.floor((low - 0.5 * room) / unit) * unit
