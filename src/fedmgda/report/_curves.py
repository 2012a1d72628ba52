"""Curves over rounds: panels side by side, one line per method, a band for the seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda.metrics import smoothed
from fedmgda.report._style import (
    figure_style,
    fitted,
    legend_below,
    looks,
    save_figure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from fedmgda._types import Vector
    from fedmgda.report._style import Look

__all__ = ["Panel", "Series", "draw_curves", "series_of_runs"]


@final
@dataclass(frozen=True, slots=True)
class Series:
    """One curve.

    Attributes:
        label: Its name; the same name has the same colour in every panel.
        x: Of shape `(t,)`, ascending.
        mean: Of shape `(t,)`; where it is NaN nothing is drawn.
        std: Of shape `(t,)`: half the height of the shaded band; None draws none.
        beside: The label of a curve to be compared with: this one has its colour, in dots.
    """

    label: str
    x: Vector
    mean: Vector
    std: Vector | None = None
    beside: str = ""

    def __post_init__(self) -> None:
        for name, values in (("mean", self.mean), ("std", self.std)):
            if values is not None and np.shape(values) != np.shape(self.x):
                raise ValueError(
                    f"{name} of the curve {self.label!r} must have the shape of x, "
                    f"{np.shape(self.x)}, got {np.shape(values)}."
                )


@final
@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: Above the axes.
        x_label: Below them.
        y_label: Beside them.
        series: The curves.
        percent: Whether values run from 0 to 100 and are marked with a percent sign.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is logarithmic.
        rising: Whether the first tenth of the horizontal axis, where everything rises steeply, may
            lie below the frame, so that later differences can be seen; the axis then says so.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    percent: bool = False
    log_y: bool = False
    log_x: bool = False
    rising: bool = False


def series_of_runs(label: str, x: Vector, runs: ArrayLike, *, span: float = 1.0) -> Series:
    """Return mean and population standard deviation over runs, each run smoothed first.

    Args:
        label: The name of the curve.
        x: Of shape `(t,)`.
        runs: Of shape `(seeds, t)`: one row per seed.
        span: Of the exponentially weighted mean; 1 changes nothing, the paper has 50 for values of
            every round and 5 for values of every tenth.

    >>> series_of_runs("FedAvg", np.arange(2), [[0.0, 1.0], [2.0, 1.0]]).std.tolist()
    [1.0, 0.0]
    """
    curves = np.array([smoothed(run, span) for run in np.asarray(runs, dtype=np.float64)])
    return Series(label=label, x=x, mean=curves.mean(axis=0), std=curves.std(axis=0))


def draw_curves(
    panels: Sequence[Panel], path: Path, *, title: str = "", columns: int = 2
) -> tuple[Path, Path]:
    """Draw panels in a grid with one legend below them.

    Args:
        panels: At least one, in reading order.
        path: Where, without a suffix.
        title: Above all panels.
        columns: How many panels stand side by side.

    Returns:
        The PNG and the PDF.

    Raises:
        ValueError: If there is no panel.
    """
    if not panels:
        raise ValueError(f"panels must hold at least one panel, got none for {path.name}.")
    labels = [series.label for panel in panels for series in panel.series if not series.beside]
    shapes = looks(labels)
    wide = min(columns, len(panels))
    high = -(-len(panels) // wide)
    with figure_style() as library:
        size = (max(4.2 * wide, 6.0), 2.7 * high + (0.3 if title else 0.0))
        figure = library.Figure(figsize=size, layout="constrained")
        grid = figure.subplots(high, wide, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axes, panel in zip(grid, panels, strict=False):
            drawn = _draw_panel(axes, panel, shapes)
            handles |= {label: line for label, line in drawn.items() if label not in handles}
        for axes in grid[len(panels) :]:
            axes.remove()
        figure.suptitle(fitted(title, size[0]))
        legend_below(figure, list(handles.values()), list(handles))
        return save_figure(figure, path)


def _draw_panel(axes: Any, panel: Panel, shapes: Mapping[str, Look]) -> dict[str, Any]:
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log", nonpositive="mask")
    handles = {}
    for series, width in zip(panel.series, _widths(panel.series), strict=True):
        color, dashes = shapes[series.beside or series.label]
        dashes = ":" if series.beside else dashes
        (handles[series.label],) = axes.plot(
            series.x, series.mean, color=color, ls=dashes, lw=width, label=series.label
        )
        if series.std is not None:
            low, high = _band(series.mean, series.std, panel)
            axes.fill_between(series.x, low, high, color=color, alpha=0.15, lw=0)
    axes.set(title=fitted(panel.title, 3.6), xlabel=panel.x_label, ylabel=panel.y_label)
    axes.margins(x=0.02)
    if panel.percent:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, -3.0), min(high, 103.0))
    if panel.log_y:
        _plain_ticks(axes.yaxis)
    if panel.rising and (start := _start(panel)) is not None:
        axes.set_ylim(bottom=start)
        axes.set_ylabel(f"{panel.y_label}\n(the axis starts at {start:g}{' %' * panel.percent})")
    return handles


def _widths(curves: Sequence[Series]) -> list[float]:
    """Return how wide curves are drawn: wider where a later one lies exactly on them."""
    hidden = [
        sum(np.array_equal(curve.mean, later.mean, equal_nan=True) for later in curves[place + 1 :])
        for place, curve in enumerate(curves)
    ]
    return [1.5 + 1.2 * count for count in hidden]


def _start(panel: Panel) -> float | None:
    """Return the multiple of ten below all but the first tenth of the curves; None if below all."""
    x = np.concatenate([series.x for series in panel.series])
    low = np.concatenate([s.mean if s.std is None else s.mean - s.std for s in panel.series])
    later = low[np.isfinite(low) & (x >= 0.1 * x.max(initial=0.0))]
    start = 10.0 * float(np.floor(later.min(initial=np.inf) / 10.0))
    return start if np.isfinite(start) and (low < start).any() else None


def _plain_ticks(axis: Any) -> None:
    """Write 0.5 instead of 5 x 10^-1 where a logarithmic axis spans less than two decades."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 (optional, and slow)

    low, high = axis.get_view_interval()
    if low > 0.0 and high < 100.0 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(NullFormatter())


def _band(mean: Vector, std: Vector, panel: Panel) -> tuple[Vector, Vector]:
    low, high = mean - std, mean + std
    if panel.percent:
        return np.clip(low, 0.0, 100.0), np.clip(high, 0.0, 100.0)
    if panel.log_y:
        positive = mean[mean > 0.0]
        # No logarithmic axis reaches zero: the band ends below the lowest point of its curve.
        return np.maximum(low, 0.5 * positive.min(initial=np.inf)), high
    return low, high
