"""The four scaling curves in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#d55e00")  # blue and vermilion: told apart by everyone
PANELS = (
    ("participants", "participants", ("train_s", "server_s"), "participants of a round"),
    ("params", "d", ("server_s",), "parameters d, 10 participants"),
    ("users", "users", ("round_s", "start_s"), "users, 10 of them in a round"),
    ("workers", "workers", ("compiled_s", "torch_s"), "workers, one W1 round"),
)
LABELS = {
    "train_s": "local training",
    "server_s": "gate, Gram, QP, step",
    "round_s": "round",
    "start_s": "start of the pool",
    "compiled_s": "compiled path",
    "torch_s": "torch path",
}


def plot_scaling(record: dict[str, Any], path: Path) -> None:
    """Draw seconds against size on logarithmic axes, with the fitted exponents in the legend."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(9, 6), layout="constrained")
        for axes, panel in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
            _draw(axes, record, *panel)
        figure.savefig(path, dpi=120, metadata={"Software": None})


def _draw(axes: Axes, record: dict[str, Any], what: str, x: str, curves: Any, title: str) -> None:
    rows = record[what]
    sizes = [row[x] for row in rows]
    for column, colour in zip(curves, COLOURS, strict=False):
        power = record["exponents"].get(f"{what} {column}")
        label = LABELS[column] + ("" if power is None else f", exponent {power:.2f}")
        axes.plot(sizes, [row[column] for row in rows], "o-", color=colour, label=label)
    if what == "workers":
        axes.set_xticks(sizes)
        axes.set_ylim(bottom=0)
    else:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(title)
    axes.set_ylabel("seconds")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
