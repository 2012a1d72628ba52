"""The user's own table: which column is the target, whose each row is, and what is learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.data.own._columns import read_columns
from fedmgda.data.own._encoding import Table
from fedmgda.data.own._values import (
    classes_of,
    missing_rows,
    numbers_of,
    read_column,
    shown,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data.own._columns import RawTable

__all__ = ["LearningTask", "load_table", "make_table"]

LearningTask: TypeAlias = Literal["classification", "regression"]

_MAX_CLASSES_GUESSED = 20
_MIN_ROWS = 3
_MAX_ID_DIGITS = 18  # longer ones are names, and slow or refused as integers


def load_table(
    path: Path | str,
    *,
    target: str,
    client: str | None = None,
    features: Sequence[str] | None = None,
    task: LearningTask | None = None,
) -> Table:
    """Read a CSV or Parquet table.

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
    return make_table(
        read_columns(Path(path)), target=target, client=client, features=features, task=task
    )


def make_table(
    raw: RawTable,
    *,
    target: str,
    client: str | None,
    features: Sequence[str] | None,
    task: LearningTask | None,
) -> Table:
    """Tell target, clients and features of a raw table apart."""
    special = [target] if client is None else [target, client]
    chosen = [n for n in raw.columns if n not in special] if features is None else list(features)
    for name in [*special, *chosen]:
        _check_name(raw, name)
    if len({*special, *chosen}) < len(special) + len(chosen):
        raise SpecError(
            "data.target, data.client and data.features must name different columns, got "
            f"{', '.join(repr(name) for name in [*special, *chosen])}."
        )
    if not chosen:
        raise DataError(f"{raw.name} has no column to predict {target!r} from.")
    targets, class_names = _targets(raw, target, task)
    groups, group_names = (None, None) if client is None else _groups(raw, client)
    return Table(
        name=raw.name,
        columns=tuple(read_column(raw, name) for name in chosen),
        target=shown(target),
        targets=targets,
        class_names=class_names,
        groups=groups,
        group_names=group_names,
    )


def _check_name(raw: RawTable, name: str) -> None:
    if name not in raw.columns:
        near = nearest_names(name, raw.columns, cutoff=0.5)
        hint = did_you_mean(near, f"it has {_listed(list(raw.columns))}.")
        raise DataError(f"{raw.name} has no column {name!r}; {hint}")


def _targets(
    raw: RawTable, name: str, task: LearningTask | None
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    _check_complete(raw, name, "target")
    numbers = numbers_of(raw, name)
    if (task or _guessed(numbers)) == "regression":
        if numbers is None:
            raise DataError(f"Column {name!r} of {raw.name} holds texts; regression needs numbers.")
        return numbers.astype(np.float32), None
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


def _groups(raw: RawTable, name: str) -> tuple[Indices, tuple[str, ...]]:
    _check_complete(raw, name, "client")
    texts = texts_of(raw.columns[name])
    names = sorted(set(texts))
    if all(text.isdecimal() and len(text) <= _MAX_ID_DIGITS for text in names):
        names.sort(key=int)
    codes = {text: code for code, text in enumerate(names)}
    groups = np.array([codes[text] for text in texts], dtype=np.int64)
    counts = np.bincount(groups)
    if counts.min() < _MIN_ROWS:
        few = int(counts.argmin())
        raise DataError(
            f"Client {names[few]!r:.80} in column {name!r} has {counts[few]} row"
            f"{'' if counts[few] == 1 else 's'} ({raw.place(int(np.argmax(groups == few)))}) and "
            f"needs at least {_MIN_ROWS}, to train, validate and test on; remove or merge it."
        )
    return groups, tuple(map(shown, names))


def _check_complete(raw: RawTable, name: str, what: str) -> None:
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


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:8])) + (
        f" and {len(names) - 8} more" if len(names) > 8 else ""
    )
