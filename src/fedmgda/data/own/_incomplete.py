"""Rows without a target or a client: nothing can be learned from them, and nobody owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._text import listed, shown
from fedmgda.data.own._values import missing_rows, texts_of

if TYPE_CHECKING:
    from fedmgda.data.own._columns import RawTable

__all__ = ["leave_out_incomplete"]


def leave_out_incomplete(
    raw: RawTable, target: str, client: str | None
) -> tuple[RawTable, tuple[str, ...]]:
    """Return the rows with a target and a client, and a sentence for each of the two that misses.

    Where a column misses more than half of its values, all rows are returned: it is probably the
    wrong one. The clients of a folder are never missing, as their names are those of files.
    """
    roles = {"target": target}
    if client is not None and raw.files is None:
        roles["client"] = client
    kept, notes = raw, []
    for what, name in roles.items():
        missing = missing_rows(kept.columns[name])
        if 2 * np.count_nonzero(missing) > len(missing):
            return raw, ()
        if missing.any():
            notes.append(_note(kept, what, name, np.flatnonzero(missing).tolist()))
            kept = kept.kept(np.flatnonzero(~missing))
    return kept, tuple(notes)


def _note(raw: RawTable, what: str, name: str, missing: list[int]) -> str:
    texts = texts_of(raw.columns[name])
    read = sorted({shown(texts[row]) for row in missing} - {"", "nan"})
    words = f" ({listed(map(repr, read))} there means missing)" if read else ""
    one = len(missing) == 1
    return (
        f"{len(missing)} of {len(raw.rows)} rows {'has' if one else 'have'} no {what} in column "
        f"{shown(name)!r}{words} and {'is' if one else 'are'} left out"
        f"{':' if one else ', the first of them'} {raw.place(missing[0])}."
    )
