"""The picture of a partition: who trains on how much of what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError
from fedmgda.report._fonts import fonts_for
from fedmgda.report._style import COLORS, figure_style

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from fedmgda.data import FederatedData

__all__ = ["label_counts", "partition_heatmap"]

_MAX_NAMED = 40
_MAX_CLASSES = 20
_MAX_LETTERS = 40


def label_counts(data: FederatedData) -> NDArray[np.int64]:
    """Return how many training examples of each class each client has, `(classes, clients)`."""
    if data.num_classes is None:
        raise DataError(f"{data.name} is a regression: it has no labels to draw by client.")
    classes = data.num_classes
    return np.stack(
        [np.bincount(data.targets[rows], minlength=classes) for rows in data.train], axis=1
    )


def partition_heatmap(data: FederatedData) -> Any:
    """Draw the training examples of every client by label, and above them each client's total.

    An empty field is white: the client has no such example. Colours are on a logarithmic scale,
    because naturally heterogeneous clients differ by orders of magnitude. A client or a class whose
    name no installed font can write is shown by its number.
    """
    counts = label_counts(data)
    families, lacking = fonts_for([data.name, *_names(data), *(data.class_names or ())])
    with figure_style(families) as library:
        width = float(np.clip(2.5 + 0.14 * counts.shape[1], 5, 14))
        height = float(np.clip(2.2 + 0.16 * counts.shape[0], 3, 9))
        height += 0.06 * max((len(name) for name in _names(data)), default=0)
        figure = library.Figure(figsize=(width, height), layout="constrained")
        top, main = figure.subplots(2, 1, sharex=True, height_ratios=(1, 4))
        _draw_totals(top, counts.sum(axis=0))
        image = _draw_counts(main, counts)
        _label_axes(main, data, lacking)
        bar = figure.colorbar(image, ax=main, label="training examples", pad=0.01, aspect=30)
        ticks = [t for e in range(9) for t in (10**e, 2 * 10**e, 5 * 10**e) if t <= counts.max()]
        bar.set_ticks(ticks, labels=[f"{tick:,}" for tick in ticks])
        bar.ax.minorticks_off()
        name = _written(data.name, lacking)
        top.set_title(f"{name}: {counts.sum():,} training examples of {counts.shape[1]} clients")
    return figure


def _draw_totals(axes: Any, totals: NDArray[np.int64]) -> None:
    axes.bar(np.arange(len(totals)), totals, width=1.0, color=COLORS[0], lw=0)
    axes.set_ylabel("total")
    axes.tick_params(bottom=False, labelbottom=False)
    axes.grid(visible=False, axis="x")


def _draw_counts(axes: Any, counts: NDArray[np.int64]) -> Any:
    from matplotlib.colors import LogNorm  # noqa: PLC0415 (optional, and slow to import)

    image = axes.imshow(
        np.ma.masked_equal(counts, 0),
        aspect="auto",
        interpolation="nearest",
        cmap="viridis_r",
        norm=LogNorm(vmin=1, vmax=max(2, int(counts.max()))),
    )
    axes.grid(visible=False)
    return image


def _label_axes(axes: Any, data: FederatedData, lacking: Collection[str]) -> None:
    names = _numbered(_names(data), lacking)
    if names:
        axes.set_xticks(range(data.num_clients), names, rotation=90, fontsize=7)
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    unwritten = any(set(name) & set(lacking) for name in (*_names(data), *(data.class_names or ())))
    note = " (a number stands for a name that no installed font can write)" if unwritten else ""
    axes.set_xlabel(f"client{note}")
    axes.set_ylabel("label")
    classes = data.num_classes or 0
    if classes <= _MAX_CLASSES:
        axes.set_yticks(range(classes), _numbered(data.class_names or (), lacking) or None)


def _numbered(names: Sequence[str], lacking: Collection[str]) -> list[str]:
    """Return names, or the number of one that cannot be written; long ones are cut."""
    return [
        str(place) if set(name) & set(lacking) else _shortened(name)
        for place, name in enumerate(names)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_LETTERS else f"{name[: _MAX_LETTERS - 1]}…"


def _written(text: str, lacking: Collection[str]) -> str:
    return "".join("?" if letter in lacking else letter for letter in text)


def _names(data: FederatedData) -> tuple[str, ...]:
    """Return the names of the clients if they have any and are few enough to be read."""
    return (data.client_names or ()) if data.num_clients <= _MAX_NAMED else ()
