"""The user's own table: which column is the target, whose each row is, and what is learned from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._text import did_you_mean, listed, nearest_names, shown
from fedmgda.data.own._columns import read_columns
from fedmgda.data.own._encoding import Table
from fedmgda.data.own._incomplete import leave_out_incomplete
from fedmgda.data.own._inspect import inspect_column
from fedmgda.data.own._owners import check_complete, groups_of
from fedmgda.data.own._schema import read_given_columns, read_given_targets
from fedmgda.data.own._values import (
    classes_of,
    numbers_of,
    read_column,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda.data.own._columns import RawTable
    from fedmgda.data.own._encoding import Encoding
    from fedmgda.data.own._inspect import ColumnFacts
    from fedmgda.data.own._schema import GivenSchema
    from fedmgda.data.own._values import Column

__all__ = ["LearningTask", "TableSettings", "load_table", "make_table"]

LearningTask: TypeAlias = Literal["classification", "regression"]

_FEATURES = ("number", "category")
_KINDS = {"id": "an id", "date": "a date"}
_MAX_CLASSES_GUESSED = 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """How a table is read.

    Attributes:
        target: The column to predict.
        client: The column that says whose each row is; without one, a partition deals the rows.
        features: The columns to predict from; None takes all others.
        ignore: Columns to leave out of these others.
        task: By default a target of texts, or of at most 20 different whole numbers, is
            classified, and any other number is regressed on (`federate` standardises it).
        encoding: How columns become features. "guarded" takes neither ids nor dates for features,
            and leaves out rows without a target or a client unless these are more than half.
        min_rows: Clients with fewer rows will be left out; None refuses those with fewer than 3.
        schema: What columns and classes there are; None guesses both from the file.
    """

    target: str
    client: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    task: LearningTask | None = None
    encoding: Encoding = "plain"
    min_rows: int | None = None
    schema: GivenSchema | None = None


def load_table(
    path: Path | str,
    *,
    target: str,
    client: str | None = None,
    features: Sequence[str] | None = None,
    task: LearningTask | None = None,
) -> Table:
    """Read a CSV or Parquet table for the plain encoding.

    A CSV table is UTF-8 with a header, separated by commas, semicolons or tabs. A column whose
    values are numbers in more than nine rows of ten is numeric, and a value in it that is not a
    number is refused; any other column is categorical. Missing values are empty, NA, N/A, NaN,
    null, none, "?", "." or "-".

    Args:
        path: The file.
        target: The column to predict.
        client: The column that says whose each row is; without one, a partition deals the rows.
        features: The columns to predict from; all others by default.
        task: By default a target of texts, or of at most 20 different whole numbers, is
            classified, and any other number is regressed on (`federate` standardises it).

    Raises:
        DataError: If a column does not exist, a value is missing or junk where it may not be, a
            client has fewer than 3 rows, or there is only one class.
    """
    settings = TableSettings(target=target, client=client, features=features, task=task)
    return make_table(read_columns(Path(path)), settings)


def make_table(raw: RawTable, settings: TableSettings) -> Table:
    """Tell target, clients and features of a raw table apart.

    Raises:
        DataError: As `load_table`.
        SpecError: If a column has two roles.
    """
    target, client = settings.target, settings.client
    roles = _check_roles(raw, settings)
    row_notes: tuple[str, ...] = ()
    if settings.encoding == "guarded":
        raw, row_notes = leave_out_incomplete(raw, target, client)
    targets, class_names = _targets(raw, settings)
    columns, left_out, doubtful = _columns(raw, settings, roles)
    groups, group_names = (
        (None, None) if client is None else groups_of(raw, client, settings.min_rows)
    )
    return Table(
        name=raw.name,
        columns=columns,
        target=shown(target),
        targets=targets,
        class_names=class_names,
        groups=groups,
        group_names=group_names,
        encoding=settings.encoding,
        given=settings.schema is not None,
        left_out=left_out,
        doubtful=doubtful,
        row_notes=row_notes,
    )


def _check_roles(raw: RawTable, settings: TableSettings) -> list[str]:
    """Return the columns that the settings name, each of which is there and named once."""
    special = [settings.target] if settings.client is None else [settings.target, settings.client]
    roles = [*special, *settings.ignore, *(settings.features or ())]
    for name in roles:
        _check_name(raw, name)
    if len(set(roles)) < len(roles):
        raise SpecError(
            "data.target, data.client, data.features and data.ignore must name different columns, "
            f"got {', '.join(repr(name) for name in roles)}."
        )
    return roles


def _columns(
    raw: RawTable, settings: TableSettings, roles: list[str]
) -> tuple[tuple[Column, ...], tuple[ColumnFacts, ...], tuple[ColumnFacts, ...]]:
    """Return the features, the columns that are none by their kind, and those in doubt."""
    if settings.schema is not None:
        return read_given_columns(raw, settings.schema), (), ()
    chosen, left_out, doubtful = _choose(raw, settings, roles)
    return tuple(read_column(raw, name) for name in chosen), left_out, doubtful


def _choose(
    raw: RawTable, settings: TableSettings, roles: list[str]
) -> tuple[list[str], tuple[ColumnFacts, ...], tuple[ColumnFacts, ...]]:
    """Return the names of the features, and what is known of the other columns."""
    given = settings.features
    names = [n for n in raw.columns if n not in roles] if given is None else list(given)
    if settings.encoding == "plain":
        facts = []
    else:
        facts = [inspect_column(name, raw.columns[name]) for name in names]
    left_out = tuple(about for about in facts if about.kind not in _FEATURES)
    if given is not None:
        _refuse_named(raw, left_out)
        left_out = ()  # a constant that was asked for becomes 0, and a count stays a number
    chosen = [name for name in names if name not in {about.name for about in left_out}]
    if not chosen:
        why = listed(f"{shown(about.name)!r} {about.why}" for about in left_out)
        raise DataError(
            f"{raw.name} has no column to predict {settings.target!r} from"
            f"{why and f': {why}; name in data.features what is to be learned from'}."
        )
    return chosen, left_out, tuple(about for about in facts if about.doubt)


def _refuse_named(raw: RawTable, facts: tuple[ColumnFacts, ...]) -> None:
    for about in facts:
        if about.kind in {"id", "date"} and about.certain:
            raise DataError(
                f"Column {about.name!r} of {raw.name} {about.why}: {_KINDS[about.kind]}, which "
                "says nothing about new rows; leave it out of data.features, or set "
                "data.encoding to 'plain' if it is none."
            )


def _check_name(raw: RawTable, name: str) -> None:
    if name not in raw.columns:
        near = nearest_names(name, raw.columns, cutoff=0.5)
        hint = did_you_mean(near, f"it has {listed(map(shown, raw.columns), 8)}.")
        raise DataError(f"{raw.name} has no column {name!r}; {hint}")


def _targets(raw: RawTable, settings: TableSettings) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    name = settings.target
    check_complete(raw, name, "target")
    if settings.schema is not None:
        return read_given_targets(raw, name, settings.schema)
    numbers = numbers_of(raw, name)
    if (settings.task or _guessed(numbers)) == "regression":
        if numbers is None:
            raise DataError(f"Column {name!r} of {raw.name} holds texts; regression needs numbers.")
        return numbers if settings.encoding == "guarded" else numbers.astype(np.float32), None
    classes, codes = classes_of(raw, name, numeric=numbers is not None)
    if len(classes) == 1:
        raise DataError(
            f"Every row of {raw.name} has the target {classes[0]!r} in column {name!r}; "
            "there is nothing to learn."
        )
    return codes, classes


def _guessed(numbers: NDArray[np.float64] | None) -> LearningTask:
    if numbers is None:
        return "classification"
    few = len(np.unique(numbers)) <= _MAX_CLASSES_GUESSED
    return "classification" if few and np.all(numbers == np.rint(numbers)) else "regression"
