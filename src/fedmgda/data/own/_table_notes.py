"""What a user should know about a table of their own, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._text import listed, shown

if TYPE_CHECKING:
    from fedmgda.data.own._encoder import Encoder
    from fedmgda.data.own._encoding import Table
    from fedmgda.data.own._values import Column

__all__ = ["guarded_notes", "plain_notes", "rare_notes"]

_MANY_CATEGORIES = 50


def plain_notes(table: Table) -> tuple[str, ...]:
    """Return one sentence for every column with missing values, and so on."""
    notes = [
        f"Column {shown(column.name)!r} of {table.name} lacks {column.num_missing} of "
        f"{len(table.targets)} values; "
        + (
            "the mean of the training rows stands in for them."
            if column.categories is None
            else "they form a category of their own, 'missing'."
        )
        for column in table.columns
        if column.num_missing
    ]
    notes += [
        f"Column {shown(column.name)!r} of {table.name} is encoded as {len(column.categories)} "
        f"categories, such as {shown(column.categories[0])!r:.40}; leave it out of data.features "
        "if it is an id, a date or a number."
        for column in table.columns
        if column.categories is not None and _has_many(table, column)
    ]
    return (*notes, *_target_notes(table))


def _has_many(table: Table, column: Column) -> bool:
    count = len(column.categories or ()) - (column.num_missing > 0)
    return count > _MANY_CATEGORIES or 2 * count > len(table.targets)


def guarded_notes(table: Table) -> tuple[str, ...]:
    """Return a sentence for each kind of thing, however many columns it is about."""
    notes = list(table.row_notes)
    if table.left_out:
        columns = [f"{shown(facts.name)!r} {facts.why}" for facts in table.left_out]
        notes.append(
            f"Columns of {table.name} that no model should learn from are left out: "
            f"{'; '.join(columns)}."
        )
    if table.doubtful:
        columns = [f"{shown(facts.name)!r} {facts.doubt}" for facts in table.doubtful]
        notes.append(
            f"Look at these columns of {table.name}, and name those that are ids in data.ignore: "
            f"{'; '.join(columns)}."
        )
    texts = "missing texts form a category of their own, 'missing'"
    if table.given:
        texts = "texts that are missing, or no category of data.schema, count as none of these"
    for numeric, what in (
        (True, "the mean of the training rows stands in for missing numbers"),
        (False, texts),
    ):
        lacking = [c for c in table.columns if c.num_missing and (c.categories is None) == numeric]
        if lacking:
            counts = [f"{shown(c.name)!r} ({c.num_missing})" for c in lacking]
            notes.append(f"In {table.name} {what}: {listed(counts)}.")
    return (*notes, *_target_notes(table))


def _target_notes(table: Table) -> tuple[str, ...]:
    if table.class_names is not None:
        return ()
    note = (
        f"The target {table.target!r} of {table.name} is standardised on the training rows: "
        "a loss of 1 is that of always predicting their mean."
    )
    return (note,)


def rare_notes(table: Table, encoder: Encoder) -> tuple[str, ...]:
    """Return one sentence about categories of a table that have no feature of their own."""
    counts = []
    for column, about in zip(table.columns, encoder.columns or (), strict=True):
        rare = len(column.categories or ()) - len(about.categories or ())
        if rare:
            counts.append(f"{shown(column.name)!r} ({rare} of {len(column.categories or ())})")
    if not counts:
        return ()
    note = (
        f"Categories of {table.name} that hardly any training row has count as none of the others: "
        f"{listed(counts)}."
    )
    return (note,)
