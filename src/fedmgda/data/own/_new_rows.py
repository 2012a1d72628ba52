"""What a user should know of new rows before a model is asked about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._text import listed, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Flags
    from fedmgda.data.own._columns import RawTable
    from fedmgda.data.own._encoder import EncodedColumn, Encoder
    from fedmgda.data.own._values import Column

__all__ = ["lacking_columns", "notes_on_new_rows"]


def lacking_columns(table: RawTable, lacking: Sequence[str]) -> str:
    """Return the sentence about columns that a table lacks; one in another case is named."""
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    alike = {name.casefold(): name for name in table.columns}
    near = next((alike[name.casefold()] for name in lacking if name.casefold() in alike), None)
    hint = f"; {near!r} differs in upper and lower case, so rename it" if near is not None else ""
    return f"{table.name} has no column {lacking[0]!r}{more}; the model was trained with it{hint}."


def notes_on_new_rows(
    encoder: Encoder, table: RawTable, columns: Sequence[Column]
) -> tuple[str, ...]:
    """Return a sentence each about unknown categories, missing numbers and numbers far outside."""
    pairs = list(zip(encoder.columns or (), columns, strict=True))
    unknown = {a.name: _count(c.values < 0) for a, c in pairs if a.categories is not None}
    missing = {a.name: c.num_missing for a, c in pairs if a.categories is None}
    outside = {a.name: _outside(encoder.clip, a, c) for a, c in pairs if a.categories is None}
    rare = (
        f"Of the {len(table.rows)} rows of {table.name} some have a category that was rare or "
        "absent in training and counts as none of those the model knows"
    )
    filled = f"In {table.name} the mean of the training rows stands in for missing numbers"
    clipped = (
        f"Numbers of {table.name} more than {encoder.clip or 0:g} deviations from the mean of the "
        f"training rows count as {encoder.clip or 0:g} deviations from it"
    )
    found = ((rare, unknown), (filled, missing), (clipped, outside))
    return tuple(f"{said}: {_listed(counts)}." for said, counts in found if any(counts.values()))


def _outside(clip: float | None, about: EncodedColumn, column: Column) -> int:
    """Return how many known numbers are clipped."""
    if clip is None or not about.scale:
        return 0
    # A missing number is NaN, which is not beyond anything.
    return _count(np.abs(column.values - about.mean) > clip * about.scale)


def _count(rows: Flags) -> int:
    return int(np.count_nonzero(rows))


def _listed(counts: Mapping[str, int]) -> str:
    return listed(
        f"{shown(name)!r} ({count} row{'' if count == 1 else 's'})"
        for name, count in counts.items()
        if count
    )
