"""Whose each row of a table is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import listed, shown, told_apart
from fedmgda.data.own._values import missing_rows, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedmgda._types import Indices
    from fedmgda.data.own._columns import RawTable

__all__ = ["check_complete", "client_order", "groups_of"]

_MIN_ROWS = 3
_MAX_ID_DIGITS = 18  # longer ones are names, and slow or refused as integers


def groups_of(raw: RawTable, name: str, min_rows: int | None) -> tuple[Indices, tuple[str, ...]]:
    """Return the client of each row, of shape `(n,)`, and what the clients are called.

    Args:
        raw: The table.
        name: The column that says whose each row is.
        min_rows: Clients with fewer rows will be left out; None refuses those with fewer than 3.

    Raises:
        DataError: If a row has no client, or a client too few rows.
    """
    check_complete(raw, name, "client")
    texts = texts_of(raw.columns[name])
    names = client_order(texts)
    codes = {text: code for code, text in enumerate(names)}
    groups = np.array([codes[text] for text in texts], dtype=np.int64)
    counts = np.bincount(groups)
    if min_rows is None and counts.min() < _MIN_ROWS:
        few = np.flatnonzero(counts < _MIN_ROWS)
        first = int(few[0])
        others = [f"{shown(names[client])!r:.80} ({counts[client]})" for client in few[1:]]
        raise DataError(
            f"Client {names[first]!r:.80} in column {name!r} has {counts[first]} row"
            f"{'' if counts[first] == 1 else 's'} ({raw.place(int(np.argmax(groups == first)))}) "
            f"and needs at least {_MIN_ROWS}, to train, validate and test on"
            f"{', and so do ' if others else ''}{listed(others, 50)}; remove or merge "
            f"{'them' if others else 'it'}, or set data.min_rows."
        )
    return groups, tuple(told_apart(map(shown, names)))


def client_order(names: Iterable[str]) -> list[str]:
    """Return different names in the order of the clients' ids: numbers by size, else as texts.

    >>> client_order(["10", "9", "10"]), client_order(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    different = sorted(set(names))
    if all(text.isdecimal() and len(text) <= _MAX_ID_DIGITS for text in different):
        different.sort(key=int)
    return different


def check_complete(raw: RawTable, name: str, what: str) -> None:
    """Refuse a column that lacks values."""
    column = raw.columns[name]
    missing = np.flatnonzero(missing_rows(column))
    if len(missing):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        text = "" if isinstance(column, np.ndarray) else column[missing[0]]
        remedy = f"{text!r} there means missing, so remove these rows or rename it" if text else ""
        raise DataError(
            f"The {what} in column {name!r} is missing in {raw.place(int(missing[0]))}{more}; "
            f"{remedy or 'remove these rows'}."
        )
