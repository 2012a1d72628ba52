"""One look for all figures."""

from __future__ import annotations

import io
import textwrap
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from fedmgda._errors import MissingDependencyError
from fedmgda._files import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "COLORS",
    "DASHES",
    "Look",
    "figure_style",
    "fitted",
    "legend_below",
    "looks",
    "places",
    "save_figure",
    "wrapped",
    "write_picture",
]

COLORS = ("#4477aa", "#ccbb44", "#ee6677", "#228833", "#66ccee", "#aa3377", "#bbbbbb", "#222222")
"""Told apart by colour-blind readers (Paul Tol's bright scheme)."""

DASHES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (2, 1)),
)
"""Line styles; seven of them beside eight colours: no pair comes twice in 56 curves."""


_RULES = (
    "FedAvg", "FedAvg-n", "FedMGDA+", "q-FedAvg", "FedProx", "MGDA-Prox", "FedMGDA", "AFL",
)  # fmt: skip
"""Each in the colour and the dashes of its place."""


@contextmanager
def figure_style(families: Sequence[str] = ()) -> Iterator[Any]:
    """Give matplotlib's figure module, off screen, with our settings while the block runs.

    Args:
        families: The fonts of names in other scripts, from `fonts_for`; none takes the usual one.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 (optional, and slow to import)
        from matplotlib import figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Figures need matplotlib; install it with: pip install 'fedmgda[report]'."
        ) from error
    settings: Any = {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "legend.frameon": False,
    }
    if families:
        settings["font.family"] = list(families)
    with mpl.rc_context(settings):
        yield figure


def places(labels: Iterable[str]) -> dict[str, int]:
    """Give every label a number: the same label, the same colour.

    A rule of the paper has its own, so that it looks alike in all figures; the others take what is
    free, in the order in which they first appear.

    >>> places(["FedMGDA+ (1.5, 1/10)", "c = 1", "FedAvg"])
    {'FedMGDA+ (1.5, 1/10)': 2, 'c = 1': 1, 'FedAvg': 0}
    """
    found: dict[str, int] = {}
    distinct = list(dict.fromkeys(labels))
    for label in distinct:
        rule = label.partition(" (")[0]
        if rule in _RULES and _RULES.index(rule) not in found.values():
            found[label] = _RULES.index(rule)
    free = (place for place in count() if place not in found.values())
    return {label: found[label] if label in found else next(free) for label in distinct}


class Look(NamedTuple):
    """How a curve is told from others."""

    color: str
    dashes: Any


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Give every label a colour and dashes of its own.

    Variants of one rule, such as "FedAvg" and "FedAvg protected", have its colour; what stands
    behind its name has the same dashes in all rules. Where no rule has variants, or more than there
    are dashes, every label has a place of its own.

    >>> found = looks(["FedAvg", "FedAvg protected", "FedMGDA+ protected"])
    >>> [COLORS.index(look.color) for look in found.values()]
    [0, 0, 2]
    >>> [DASHES.index(look.dashes) for look in found.values()]
    [0, 1, 1]
    """
    distinct = list(dict.fromkeys(labels))
    rules = {x: rule if (rule := x.partition(" ")[0]) in _RULES else x for x in distinct}
    order = places(rules.values())
    if len(order) == len(distinct):
        return {label: _own_look(order[rules[label]]) for label in distinct}
    rests = {label: label.removeprefix(rules[label]) for label in distinct}
    kinds = list(dict.fromkeys(rests.values()))
    found = {label: _own_look(order[rules[label]], kinds.index(rests[label])) for label in distinct}
    if len(set(found.values())) == len(distinct):
        return found
    return {label: _own_look(place) for label, place in places(distinct).items()}


def _own_look(place: int, dashes: int | None = None) -> Look:
    dashes = place if dashes is None else dashes
    return Look(COLORS[place % len(COLORS)], DASHES[dashes % len(DASHES)])


def fitted(title: str, inches: float) -> str:
    """Break a title into as many lines as a width in inches needs, but no equation.

    >>> fitted("Interpolation between FedAvg and FedMGDA", 2.0).splitlines()
    ['Interpolation between', 'FedAvg and FedMGDA']
    """
    unbroken = title.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    lines = textwrap.fill(unbroken, max(int(inches / 0.085), 10))
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def wrapped(label: str, width: int = 14) -> str:
    """Break a label wider than `width` once: before a parenthesis, or at the middlemost space.

    >>> wrapped("q-FedAvg (q = 0.5, L = 1)").splitlines()
    ['q-FedAvg', '(q = 0.5, L = 1)']
    """
    spaces = [place for place, letter in enumerate(label) if letter == " "]
    if len(label) <= width or not spaces:
        return label
    opening = [place for place in spaces if label[place + 1 : place + 2] == "("]
    middle = (opening or sorted(spaces, key=lambda place: abs(place - len(label) / 2)))[0]
    return f"{label[:middle]}\n{label[middle + 1 :]}"


def legend_below(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put one legend under all axes, in as many columns as fit, and make room for its rows."""
    if not labels:
        return
    width, height = figure.get_size_inches()
    column = 0.65 + 0.07 * max(map(len, labels))
    width = max(width, 1.15 * column)
    fitting = int(width / column)
    rows = -(-len(labels) // min(max(fitting, 1), len(labels)))
    # As few columns as that many rows need: an even block instead of a straggler on its own line.
    columns = -(-len(labels) // rows)
    figure.set_size_inches(width, height + 0.18 * rows + 0.1)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=2.6)


def save_figure(figure: Any, path: Path) -> tuple[Path, Path]:
    """Write a figure as PNG and PDF, byte for byte the same whenever it is drawn.

    Args:
        figure: The figure.
        path: Where, without a suffix; missing folders are made.

    Returns:
        The two files.
    """
    make_folder(path.parent)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once: both files agree, in half the time
    # Not with_suffix: a name such as "epsilon-0.1" has a dot of its own.
    png, pdf = (path.parent / f"{path.name}.{kind}" for kind in ("png", "pdf"))
    write_picture(figure, png, dpi=200, metadata={"Software": None})
    unknown = {"CreationDate": None, "Creator": None, "Producer": None}
    write_picture(figure, pdf, metadata=unknown)
    return png, pdf


def write_picture(figure: Any, path: Path, **options: Any) -> None:
    """Write a figure as a file of the kind that its suffix names.

    Raises:
        StoreError: If the disk refuses; what was there before still is.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), **options)
    write_file(path, picture.getvalue())
