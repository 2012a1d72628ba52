"""Rows from Python as a raw table: a sequence of mappings, or a mapping of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data.own._columns import RawTable

if TYPE_CHECKING:
    from fedmgda.data.own._columns import RawColumn

__all__ = ["raw_rows"]

_NAME = "the rows given"
_LARGEST_EXACT = 2**53


def raw_rows(rows: Sequence[Mapping[str, Any]] | Mapping[str, Iterable[Any]]) -> RawTable:
    """Return rows as a table; None and NaN are missing, as is what a row does not have.

    Args:
        rows: A mapping for each row, from columns to values; or one mapping from columns to the
            values of all rows, which a data frame is too.

    Raises:
        DataError: If there are no rows, they are something else, or columns differ in length.

    >>> raw_rows([{"age": 40, "ward": "A"}, {"age": None, "ward": "B"}]).columns["ward"]
    ['A', 'B']
    """
    columns = _columns(rows)
    lengths = {name: len(values) for name, values in columns.items()}
    if not any(lengths.values()):
        raise DataError(f"There is nothing in {_NAME}; at least one row is needed.")
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise DataError(
            f"The columns of {_NAME} differ in length: {short!r} has {lengths[short]} values and "
            f"{long!r} has {lengths[long]}."
        )
    return RawTable(
        name=_NAME,
        columns={name: _raw_column(values) for name, values in columns.items()},
        rows=np.arange(next(iter(lengths.values()))),
    )


def _columns(rows: Any) -> dict[str, list[Any]]:
    if isinstance(rows, Mapping) or (hasattr(rows, "columns") and hasattr(rows, "__getitem__")):
        names = list(rows if isinstance(rows, Mapping) else rows.columns)
        return {str(name): list(rows[name]) for name in names}
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return {str(name): [row.get(name) for row in rows] for name in names}
    raise DataError(
        f"Rows must be mappings from columns to values, a mapping of columns, or the path of a "
        f"table, got an object of type {type(rows).__name__}."
    )


def _raw_column(values: list[Any]) -> RawColumn:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if all(value is None or _is_number(value) for value in plain):
        return np.array([math.nan if value is None else float(value) for value in plain])
    return [_text(value) for value in plain]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # float64 would merge larger whole numbers, which are codes rather than amounts.
    return isinstance(value, float) or abs(value) <= _LARGEST_EXACT


def _text(value: Any) -> str:
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value).strip()
