"""A table described before anybody reads it, so that many files become the same features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import listed, shown, told_apart
from fedmgda.data.own._encoder import MISSING
from fedmgda.data.own._statistics import ColumnSchema, Schema
from fedmgda.data.own._values import (
    MAX_CATEGORIES,
    Column,
    missing_rows,
    parse_numbers,
    plain_number,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda.data.own._columns import RawTable

__all__ = ["GivenColumn", "GivenSchema", "read_given_columns", "read_given_targets", "schema_of"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GivenColumn:
    """A column that is learned from.

    Attributes:
        name: Its name in every file.
        kind: What it holds.
        categories: Of categories, all there are; none of numbers.
    """

    name: str
    kind: Literal["number", "category"]
    categories: tuple[str, ...] | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSchema:
    """What everybody agrees on before a file is read; nothing is guessed from one then.

    Every category listed is a feature, however rare. What is missing is none of them: zero in all.

    Attributes:
        columns: The columns that are learned from, in the order of their features.
        classes: The classes of the target in the order of their numbers; None for a regression.
        unknown: What a category that is not listed means: "missing", or that the file is refused.

    Raises:
        ValueError: If it contradicts itself.
    """

    columns: tuple[GivenColumn, ...]
    classes: tuple[str, ...] | None = None
    unknown: Literal["missing", "refuse"] = "missing"

    def __post_init__(self) -> None:
        """Refuse what no file can fit."""
        if not self.columns:
            raise ValueError("columns must name at least one column, got none.")
        _check_different("columns", [column.name for column in self.columns])
        if self.classes is not None:
            _check_different("classes", self.classes)
            if len(self.classes) < 2:
                raise ValueError(f"classes must be at least two, got {len(self.classes)}.")
        for column in self.columns:
            _check_categories(column)


def _check_different(what: str, names: Sequence[str]) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(f"{what} must differ, got {twice[0]!r:.60} twice.")
    if missing := [name for name in names if missing_rows([name.strip()])[0]]:
        raise ValueError(f"{what} must have names, got {missing[0]!r:.60}, which means missing.")


def _check_categories(column: GivenColumn) -> None:
    where, known = f"columns: {column.name!r:.60}", column.categories
    if column.kind == "number":
        if known is not None:
            raise ValueError(f"{where} is of kind 'number', which has no categories.")
        return
    if not known or len(known) > MAX_CATEGORIES:
        count = len(known or ())
        raise ValueError(
            f"{where} is of kind 'category' and needs 1 to {MAX_CATEGORIES} categories, got "
            f"{count}; list them, or make it a number."
        )
    _check_different(f"{where} has categories that", known)
    if MISSING in known:
        raise ValueError(f"{where} lists {MISSING!r}, which is no category: leave it out.")


def read_given_columns(table: RawTable, schema: GivenSchema) -> tuple[Column, ...]:
    """Return the columns of a schema; a category that is missing or unknown has the number -1.

    Raises:
        DataError: If a column is not there, or a value is not what the schema says.
    """
    lacking = [column.name for column in schema.columns if column.name not in table.columns]
    if lacking:
        raise DataError(
            f"{table.name} has no column {listed(map(repr, lacking), 5)}, which data.schema names; "
            f"it has {listed(map(shown, table.columns), 8)}."
        )
    return tuple(
        _numbers(table, column) if column.kind == "number" else _categories(table, column, schema)
        for column in schema.columns
    )


def _numbers(table: RawTable, about: GivenColumn) -> Column:
    raw = table.columns[about.name]
    numbers, missing, junk = parse_numbers(raw)
    if len(junk):
        raise DataError(
            f"Column {about.name!r} holds numbers after data.schema, but "
            f"{table.place(int(junk[0]))} has {shown(str(raw[junk[0]])):.40}; correct it, or leave "
            "it empty if it is not known."
        )
    return Column(name=about.name, values=numbers, categories=None, num_missing=int(missing.sum()))


def _categories(table: RawTable, about: GivenColumn, schema: GivenSchema) -> Column:
    raw, known = table.columns[about.name], about.categories or ()
    missing = missing_rows(raw)
    places = {category: place for place, category in enumerate(known)}
    texts = texts_of(raw)
    codes = np.array([places.get(text, -1) for text in texts], dtype=np.int64)
    codes[missing] = -1
    unknown = np.flatnonzero((codes < 0) & ~missing)
    if len(unknown) and schema.unknown == "refuse":
        row = int(unknown[0])
        raise DataError(
            f"{table.place(row)} has {shown(texts[row])!r:.40} in column {about.name!r}, no "
            f"category of data.schema ({listed(map(shown, known), 8)}); correct it, list it, or "
            'set data.schema.unknown to "missing".'
        )
    return Column(
        name=about.name, values=codes, categories=known, num_missing=int(np.sum(codes < 0))
    )


def read_given_targets(
    table: RawTable, target: str, schema: GivenSchema
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return the target of each row, of shape `(n,)`, and what the classes are called.

    Raises:
        DataError: If one is no class of the schema, or no number where there are none.
    """
    raw = table.columns[target]
    if schema.classes is None:
        numbers, _, junk = parse_numbers(raw)
        if len(junk):
            raise DataError(
                f"The target in column {target!r} must be a number without data.schema.classes, "
                f"but {table.place(int(junk[0]))} has {shown(str(raw[junk[0]])):.40}."
            )
        return numbers, None
    places = {name: place for place, name in enumerate(schema.classes)}
    # 1 and 1.0 are the same class, as they are where classes are read from a file.
    places = {plain_number(name): place for name, place in places.items()} | places
    texts = texts_of(raw)
    codes = np.array([places.get(t, places.get(plain_number(t), -1)) for t in texts], np.int64)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise DataError(
            f"{table.place(row)} has the target {shown(texts[row])!r:.40} in column {target!r}, no "
            f"class of data.schema ({listed(map(shown, schema.classes), 8)})."
        )
    return codes, _class_names(schema)


def schema_of(given: GivenSchema, target: str) -> Schema:
    """Return what everybody knows of a table that has been described and not read."""
    columns = (ColumnSchema(name=c.name, categories=c.categories) for c in given.columns)
    return Schema(
        columns=tuple(columns), target=shown(target), class_names=_class_names(given), given=True
    )


def _class_names(schema: GivenSchema) -> tuple[str, ...] | None:
    return None if schema.classes is None else tuple(told_apart(map(shown, schema.classes)))
