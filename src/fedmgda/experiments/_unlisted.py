"""The categories of a file that a schema does not list: for the eyes of whoever has the file."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fedmgda._text import listed, shown
from fedmgda.data import missing_rows, read_raw, texts_of
from fedmgda.experiments._init_schema import column_table
from fedmgda.experiments._toml import toml_value

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.data import GivenColumn, RawTable
    from fedmgda.experiments._spec import Spec

__all__ = ["unlisted_notes"]

_SHOWN = 8


def unlisted_notes(spec: Spec, path: Path) -> tuple[str, ...]:
    """Return a sentence for each column with categories that the schema of a spec does not list.

    They name values of the file and are for its owner; nothing of this goes to a node's answers.

    Args:
        spec: The spec; without a schema there is nothing to say.
        path: The file, or the folder of files.
    """
    if spec.data.schema is None:
        return ()
    raw = read_raw(path)
    known = [c for c in spec.data.schema.columns if c.categories and c.name in raw.columns]
    return tuple(note for column in known if (note := _note(raw, column)))


def _note(raw: RawTable, column: GivenColumn) -> str:
    values, known = raw.columns[column.name], column.categories or ()
    missing = missing_rows(values)
    texts = [text for text, gone in zip(texts_of(values), missing, strict=True) if not gone]
    counts = Counter(text for text in texts if text not in known)
    if not counts:
        return ""
    most = counts.most_common()
    unlisted = listed((f"{shown(text)!r} ({count})" for text, count in most), _SHOWN)
    gone = int(missing.sum())
    line = toml_value(column_table(replace(column, categories=(*known, *sorted(counts)))))
    return (
        f"Column {shown(column.name)!r} of {raw.name} has categories that the spec does not list: "
        f"{unlisted}; {gone or 'no'} {'values' if gone != 1 else 'value'} of it "
        f"{'are' if gone != 1 else 'is'} missing. If everybody may read them, put this in its "
        f"place in data.schema.columns, at every node: {line},"
    )
