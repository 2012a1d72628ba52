"""From what stands in a column to numbers or categories; what is missing is counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._errors import DataError
from fedmgda._text import shown, told_apart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Flags, Indices
    from fedmgda.data.own._columns import RawColumn, RawTable

__all__ = [
    "LARGEST",
    "MAX_CATEGORIES",
    "Column",
    "are_identifiers",
    "categories_of",
    "classes_of",
    "is_numeric",
    "missing_rows",
    "numbers_in_other_notation",
    "numbers_of",
    "parse_numbers",
    "plain_number",
    "read_column",
    "texts_of",
]

LARGEST = 1e30
"""Beyond it, squares leave float32."""

MAX_CATEGORIES = 1000
"""A column of more texts is not encoded."""

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", ".", "-"})
_NUMERIC_SHARE = 0.9
_INTEGER = re.compile(r"[+-]?\d{1,40}")  # Python refuses to read very long ones
_MAX_CATEGORIES_OF_IDS = 20
_NOTATION = re.compile(
    r"[+-]?(\d{1,3}([.,' ]\d{3})+([.,]\d+)?|\d+,\d+|\d+([.,]\d+)?\s?%)"  # 1,234 0,126 12.5%
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A feature before it is encoded.

    Attributes:
        name: Its name in the table, which may not be safe to print; nor may a category.
        values: Of shape `(n,)`: float64 with NaN where a number is missing, or the int64 number of
            each category.
        categories: The categories in the order of their numbers; None for numbers. Where values
            are missing, the last one is "missing".
        num_missing: How many values are missing.
    """

    name: str
    values: NDArray[Any]
    categories: tuple[str, ...] | None
    num_missing: int


def read_column(table: RawTable, name: str) -> Column:
    """Read a feature: numbers if more than nine values in ten are numbers, else categories.

    Raises:
        DataError: If a value among numbers is not one, most are numbers in another notation, or
            there are too many categories.
    """
    raw = table.columns[name]
    missing = missing_rows(raw)
    count = int(missing.sum())
    numbers = numbers_of(table, name)
    if numbers is not None:
        if count == len(numbers):
            raise DataError(f"Column {name!r} of {table.name} has no value; leave it out.")
        return Column(name=name, values=numbers, categories=None, num_missing=count)
    known = [text for text, gone in zip(texts_of(raw), missing, strict=True) if not gone]
    _check_categories(table, name, known)
    texts = ["missing" if gone else t for t, gone in zip(texts_of(raw), missing, strict=True)]
    categories, codes = categories_of(table, name, texts)
    if count:  # last, so that the order of the others does not depend on it
        order = [*(c for c in categories if c != "missing"), "missing"]
        codes = np.array([order.index(c) for c in categories], dtype=np.int64)[codes]
        categories = tuple(order)
    return Column(name=name, values=codes, categories=categories, num_missing=count)


def _check_categories(table: RawTable, name: str, known: list[str]) -> None:
    if odd := numbers_in_other_notation(known):
        raise DataError(
            f"Column {name!r} of {table.name} has numbers like {odd[0]!r:.40}; write plain ones, "
            "like 12.5."
        )
    count = len(set(known))
    if are_identifiers(count, len(table.rows)):
        sample = next((t for t in known if not np.isfinite(_number(t))), known[0])
        raise DataError(
            f"Column {name!r} of {table.name} has {count} different values in {len(table.rows)} "
            f"rows, such as {sample!r:.40}: an id, a date or a number in an unknown notation; "
            "leave it out of data.features, or write numbers like 12.5."
        )


def numbers_in_other_notation(known: list[str]) -> list[str]:
    """Return the numbers that are not written like 12.5, if most texts of a column are such."""
    odd = [t for t in known if _NOTATION.fullmatch(t) and not np.isfinite(_number(t))]
    return odd if 2 * len(odd) > len(known) else []


def are_identifiers(num_distinct: int, num_rows: int) -> bool:
    """Tell whether texts name rows rather than kinds of rows: most of them differ."""
    return num_distinct > _MAX_CATEGORIES_OF_IDS and 2 * num_distinct > num_rows


def missing_rows(raw: RawColumn) -> Flags:
    """Return which values are missing, of shape `(n,)`: empty, NA, NaN, null, none, ?, . or -."""
    if isinstance(raw, np.ndarray):
        return np.isnan(raw)
    # Of most columns few texts differ, and each is looked at once.
    gone = {value for value in set(raw) if value.casefold() in _MISSING}
    return np.array([value in gone for value in raw], dtype=np.bool_)


def numbers_of(table: RawTable, name: str) -> NDArray[np.float64] | None:
    """Return a column as numbers, NaN where missing; None if it is a column of texts.

    Raises:
        DataError: If more than nine values in ten are numbers below 1e30, and one is not.
    """
    raw = table.columns[name]
    numbers, missing, junk = parse_numbers(raw)
    if not is_numeric(raw, missing, junk):
        return None
    if len(junk):
        raise DataError(
            f"Column {name!r} holds numbers, but {table.place(int(junk[0]))} has "
            f"{shown(str(raw[junk[0]])):.40}; correct it, or leave it empty if it is not known."
        )
    return numbers


def parse_numbers(
    raw: RawColumn,
) -> tuple[NDArray[np.float64], Flags, Indices]:
    """Return a column as numbers, which values are missing (NaN), and the rows of junk.

    Junk is what is no number below 1e30; it may be infinite.
    """
    missing = missing_rows(raw)
    if isinstance(raw, np.ndarray):
        numbers = np.array(raw, dtype=np.float64)
    else:
        read = {value: _number(value) for value in set(raw)}
        numbers = np.array([read[value] for value in raw], dtype=np.float64)
    numbers[missing] = np.nan
    return numbers, missing, np.flatnonzero(~missing & ~(np.abs(numbers) < LARGEST))


def is_numeric(raw: RawColumn, missing: Flags, junk: Indices) -> bool:
    """Tell whether a column is one of numbers: typed, or more than nine values in ten are."""
    known = int(np.count_nonzero(~missing))
    return isinstance(raw, np.ndarray) or not known or len(junk) < (1 - _NUMERIC_SHARE) * known


def texts_of(raw: RawColumn) -> list[str]:
    """Return a column as texts; whole numbers without a decimal point."""
    if isinstance(raw, np.ndarray):
        return [repr(value).removesuffix(".0") for value in raw.tolist()]
    return raw


def classes_of(table: RawTable, name: str, *, numeric: bool) -> tuple[tuple[str, ...], Indices]:
    """Return the classes of a target and the class of each row; 1 and 1.0 are the same number."""
    texts = texts_of(table.columns[name])
    texts = [plain_number(text) for text in texts] if numeric else texts
    classes, codes = categories_of(table, name, texts)
    return tuple(told_apart(map(shown, classes))), codes


def plain_number(text: str) -> str:
    """Return a number in the one way to write it, and any other text as it is.

    Integers beyond float64 stay exact.

    >>> plain_number("1.0"), plain_number("+7"), plain_number("yes")
    ('1', '7', 'yes')
    """
    if _INTEGER.fullmatch(text):
        return str(int(text))
    number = _number(text)
    if not np.isfinite(number):
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def categories_of(table: RawTable, name: str, texts: list[str]) -> tuple[tuple[str, ...], Indices]:
    """Return the different texts, whole numbers in their own order, and the number of each row.

    Raises:
        DataError: If there are more than 1000 of them, as in a column of names or dates.
    """
    distinct = sorted(set(texts))
    if len(distinct) > MAX_CATEGORIES:
        raise DataError(
            f"Column {name!r} of {table.name} has {len(distinct)} different values, more than the "
            f"{MAX_CATEGORIES} categories that are encoded; leave it out, or make it a number."
        )
    if np.isfinite([_number(text) for text in distinct]).all():
        distinct.sort(key=float)
    codes = {text: code for code, text in enumerate(distinct)}
    return tuple(distinct), np.array([codes[text] for text in texts], dtype=np.int64)


def _number(text: str) -> float:
    """Return the number, or infinity for what is none; Python alone would take 1_000 for one."""
    try:
        return np.inf if "_" in text else float(text)
    except ValueError:
        return np.inf
