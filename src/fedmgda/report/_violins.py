"""Violins: how a score is spread over the users, one shape per method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.metrics import fairness
from fedmgda.report._style import (
    figure_style,
    fitted,
    legend_below,
    looks,
    save_figure,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda._types import Vector
    from fedmgda.metrics import Fairness

__all__ = ["Violin", "draw_violins"]

_HALF = 0.4
_MEAN = "mean; in numbers: mean ± standard deviation over users"
_ENDS = "worst and best 5 % (percentiles)"


@final
@dataclass(frozen=True, slots=True)
class Violin:
    """The scores of all users under one method.

    Attributes:
        label: The name of the method.
        values: Of shape `(n,)`, finite: one score per user; users of several seeds stand together.
    """

    label: str
    values: Vector


def draw_violins(
    groups: Sequence[Violin],
    path: Path,
    *,
    title: str = "",
    y_label: str = "test accuracy of a user",
) -> tuple[Path, Path]:
    """Draw one violin per method, with its mean and the paper's worst and best 5 %.

    The numbers below a name are the mean and the population standard deviation over users. The
    worst and best 5 % are percentiles, as in the paper's tables.

    Args:
        groups: At least one, from left to right.
        path: Where, without a suffix.
        title: Above the axes.
        y_label: Beside the axes.

    Returns:
        The PNG and the PDF.

    Raises:
        ValueError: If there is no group, or a group has no user or a score that is not finite.
    """
    if not groups:
        raise ValueError(f"groups must hold at least one violin, got none for {path.name}.")
    summaries = [fairness(group.values) for group in groups]
    shapes = looks(group.label for group in groups)
    with figure_style() as library:
        width = max(4.5, 0.8 + 1.15 * len(groups))
        figure = library.Figure(figsize=(width, 3.4), layout="constrained")
        axes = figure.subplots()
        for place, (group, summary) in enumerate(zip(groups, summaries, strict=True)):
            _draw_body(axes, place, group.values, shapes[group.label].color)
            handles = _draw_marks(axes, place, summary)
        axes.set_xticks(range(len(groups)), [*map(_caption, groups, summaries)])
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.grid(visible=False, axis="x")
        axes.set(title=fitted(title, width - 0.8), ylabel=y_label)
        legend_below(figure, handles, [_MEAN, _ENDS])
        return save_figure(figure, path)


def _caption(group: Violin, summary: Fairness) -> str:
    digits = 1 if summary.max > 1.0 else 3
    return f"{wrapped(group.label)}\n{summary.average:.{digits}f} ± {summary.std:.{digits}f}"


def _draw_body(axes: Any, place: int, values: Vector, color: str) -> None:
    shape = axes.violinplot(
        np.asarray(values, dtype=np.float64),
        positions=[place],
        widths=2 * _HALF,
        showextrema=False,
        points=200,
    )
    for body in shape["bodies"]:
        body.set(facecolor=color, edgecolor="#444444", lw=0.8, alpha=0.55)


def _draw_marks(axes: Any, place: int, summary: Fairness) -> list[Any]:
    """Mark the mean and both percentiles; return a handle of each kind."""
    low, high = summary.percentile_5, summary.percentile_95
    axes.vlines(place, low, high, color="#222222", lw=1.0)
    ends = axes.hlines([low, high], place - 0.16, place + 0.16, color="#222222", lw=1.6)
    (mean,) = axes.plot(place, summary.average, "o", ms=6, mfc="white", mec="#222222", zorder=4)
    return [mean, ends]
