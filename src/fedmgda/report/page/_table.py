"""Tables of plain values: what a chart draws, a reader downloads and a test reads is one thing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = ["Cell", "Table", "bin_edges", "binned", "thinned"]

Cell: TypeAlias = str | float | int | None

_DIGITS = 5  # of a number in the page: more than any eye or pixel tells apart


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns.

    Attributes:
        name: Unique in a page; also the name of its CSV file.
        title: What it shows, for people.
        columns: The names of the columns.
        rows: As many cells as columns each; None is what is not known.
        percent: The columns whose numbers are shares, shown in percent.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    percent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"A row of {self.name!r} has {len(row)} cells: {row}.")

    def column(self, name: str) -> list[Cell]:
        """Return the cells of a column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def encoded(self) -> dict[str, Any]:
        """Return it as JSON has it: by columns, texts by their number in a list of levels.

        >>> table = Table(name="t", title="T", columns=("a", "b"), rows=(("x", 0.1234567),))
        >>> table.encoded()["data"]
        [{'levels': ['x'], 'codes': [0]}, [0.12346]]
        """
        columns = [self.column(name) for name in self.columns]
        return {
            "title": self.title,
            "columns": list(self.columns),
            "percent": list(self.percent),
            "data": [_encoded(column) for column in columns],
        }


def _encoded(cells: Sequence[Cell]) -> Any:
    if not any(isinstance(cell, str) for cell in cells):
        return [_short(cell) for cell in cells]
    shown = [None if cell is None else printable(str(cell)) for cell in cells]
    levels = list(dict.fromkeys(cell for cell in shown if cell is not None))
    places = {level: place for place, level in enumerate(levels)}
    return {"levels": levels, "codes": [None if c is None else places[c] for c in shown]}


def _short(cell: Any) -> float | int | None:
    if cell is None or not math.isfinite(cell):
        return None
    if isinstance(cell, int | np.integer):
        return int(cell)
    value = float(f"{float(cell):.{_DIGITS}g}")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def bin_edges(last: int, most: int) -> list[tuple[int, int]]:
    """Return the first and last round of at most `most` bins of equal width over rounds 1 to last.

    >>> bin_edges(5, 2)
    [(1, 3), (4, 5)]
    """
    width = max(1, -(-last // most))
    return [(start, min(last, start + width - 1)) for start in range(1, last + 1, width)]


def binned(
    rounds: Sequence[int], values: ArrayLike, edges: Sequence[tuple[int, int]]
) -> list[tuple[float, float, float]]:
    """Return least, mean and largest of the known values in each bin; NaN where there is none.

    >>> binned([1, 2, 3], [1.0, 3.0, float("nan")], [(1, 2), (3, 3)])
    [(1.0, 2.0, 3.0), (nan, nan, nan)]
    """
    numbers, points = np.asarray(rounds), np.asarray(values, dtype=np.float64)
    found = []
    for first, last in edges:
        part = points[(numbers >= first) & (numbers <= last)]
        part = part[np.isfinite(part)]
        found.append(
            (float(part.min()), float(part.mean()), float(part.max()))
            if len(part)
            else (math.nan, math.nan, math.nan)
        )
    return found


def thinned(count: int, most: int) -> list[int]:
    """Return at most so many places of a sequence, evenly spread, the first and last among them.

    >>> thinned(9, 3)
    [0, 4, 8]
    """
    if count <= most:
        return list(range(count))
    return sorted({round(place) for place in np.linspace(0, count - 1, most).tolist()})
