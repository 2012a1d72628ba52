"""What the columns of a table are: numbers, categories, or what no model should learn from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from fedmgda._text import shown
from fedmgda.data.own._dates import are_day_numbers, is_date
from fedmgda.data.own._values import (
    MAX_CATEGORIES,
    are_identifiers,
    is_numeric,
    numbers_in_other_notation,
    parse_numbers,
    texts_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data.own._columns import RawColumn, RawTable

__all__ = ["ColumnFacts", "ColumnKind", "inspect_column", "inspect_columns"]

ColumnKind: TypeAlias = Literal["number", "category", "id", "date", "constant", "empty"]

_DATE_SHARE = 0.9
_LOOKED_AT = 1000
_FEW_ROWS = 30  # of fewer, most whole numbers are all different
_NEARLY_ALL = 0.95
_CODE_DIGITS, _PERHAPS_CODE_DIGITS = 10, 7
_MANY_CATEGORIES = 50
_COUNTS = "counts the rows"
_ID_WORDS = frozenset({
    "id", "ids", "uid", "pid", "uuid", "guid", "key", "pk", "rownames", "rownum", "rowid",
    "unnamed",
})  # fmt: skip
_JOINED_ID = re.compile(
    r"(account|case|claim|client|customer|employee|item|loan|member|object|order|passenger|patient"
    r"|person|policy|product|record|row|sample|student|subject|trans|transaction|trip|user|visit)"
    r"(id|key|no|nr|number)"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """What is known about a column before anybody learns from it.

    Attributes:
        name: Its name in the table.
        kind: What it is. Of these only numbers and categories become features.
        num_distinct: How many different values it has, missing ones apart.
        num_missing: How many values are missing.
        examples: Up to three of its values, safe to print.
        why: For the other kinds, how that was seen: the end of a sentence that begins with "it".
        certain: False for numbers that count the rows and are not called like an id: an index, or
            a time. They are left out unless a user asks for them by name.
        doubt: What a user should look at although the column is taken for a feature; else "".
    """

    name: str
    kind: ColumnKind
    num_distinct: int
    num_missing: int
    examples: tuple[str, ...]
    why: str = ""
    certain: bool = True
    doubt: str = ""


def inspect_columns(raw: RawTable) -> tuple[ColumnFacts, ...]:
    """Return what every column of a table is, in the order of the file.

    An id is what names a row: texts most of which differ or of which there are more than 1000, and
    whole numbers nearly all of which differ if, besides, their name says so, they count the rows,
    or they are codes (leading zeros, or ten digits and more, all of one length). Prices, areas and
    incomes differ too, so without such a sign a column stays a number, with a doubt.
    """
    return tuple(inspect_column(name, column) for name, column in raw.columns.items())


def inspect_column(name: str, raw: RawColumn) -> ColumnFacts:
    """Return what one column is."""
    numbers, missing, junk = parse_numbers(raw)
    numeric = is_numeric(raw, missing, junk)
    texts = texts_of(raw)
    known = [text for text, gone in zip(texts, missing, strict=True) if not gone]
    distinct = list(dict.fromkeys(known))
    kind: ColumnKind = "number" if numeric else "category"
    doubt = why = ""
    count = len(np.unique(numbers[np.isfinite(numbers)])) if numeric else len(distinct)
    if not known:
        kind, why = "empty", "has no value"
    elif count == 1 and (numeric or not missing.any()):
        kind, why = "constant", f"is {shown(known[0])!r:.40} in every row that has a value"
    elif reason := _why_date(known, numbers if numeric else None):
        kind, why = "date", reason
    elif numeric:
        finite = numbers[np.isfinite(numbers)]
        why, doubt = _why_id_number(name, finite, count, known)
        kind = "id" if why else "number"
    else:
        why, doubt = _why_id_text(len(raw), known, distinct)
        kind = "id" if why else "category"
    return ColumnFacts(
        name=name,
        kind=kind,
        num_distinct=count,
        num_missing=int(missing.sum()),
        examples=tuple(shown(text)[:40] for text in distinct[:3]),
        why=why,
        certain=not why.startswith(_COUNTS),
        doubt=doubt,
    )


def _why_date(known: list[str], numbers: NDArray[np.float64] | None) -> str:
    if numbers is not None:
        return "holds days like 20240131" if are_day_numbers(numbers[np.isfinite(numbers)]) else ""
    looked_at = _some(known)
    dates = [text for text in looked_at if is_date(text)]
    return f"holds dates like {dates[0]!r}" if len(dates) >= _DATE_SHARE * len(looked_at) else ""


def _some(texts: list[str]) -> list[str]:
    """Return at most a thousand of the texts, evenly spread: enough to see how they are written."""
    return texts[:: -(-len(texts) // _LOOKED_AT) or 1]


def _why_id_text(num_rows: int, known: list[str], distinct: list[str]) -> tuple[str, str]:
    if odd := numbers_in_other_notation(_some(known)):
        return "", f"has numbers like {odd[0]!r:.40}"
    if are_identifiers(len(distinct), num_rows) or len(distinct) > MAX_CATEGORIES:
        return f"has {len(distinct)} different texts in {num_rows} rows", ""
    many = len(distinct) > _MANY_CATEGORIES
    return "", f"becomes {len(distinct)} categories" if many else ""


def _why_id_number(
    name: str, numbers: NDArray[np.float64], distinct: int, texts: list[str]
) -> tuple[str, str]:
    """Return why whole numbers are ids, or else what speaks for it; "" for what does not hold."""
    size = len(numbers)
    whole = bool(np.all(numbers == np.rint(numbers)))
    if not whole or size < _FEW_ROWS:
        return "", ""
    if _says_id(name) and 2 * distinct > size:
        return f"is called like an id and has {distinct} different values in {size} rows", ""
    if distinct < _NEARLY_ALL * size:
        named = f"is called like an id, and its {distinct} values are taken for amounts"
        return "", named if _says_id(name) else ""
    return _why_code(numbers, distinct, texts)


def _why_code(numbers: NDArray[np.float64], distinct: int, texts: list[str]) -> tuple[str, str]:
    """Return the same for whole numbers of any name that nearly all differ."""
    low, high = int(numbers.min()), int(numbers.max())
    rising = bool(np.all(np.diff(numbers) > 0))
    if high - low < (2.0 if rising else 1.1) * distinct:
        return f"{_COUNTS}, from {low} to {high}", ""
    padded = next((t for t in texts if t.isdecimal() and t != "0" and t.startswith("0")), "")
    widths = {len(text) for text in texts}
    width = min(widths) if len(widths) == 1 else 0
    if padded or width >= _CODE_DIGITS:
        return f"holds codes like {padded or texts[0]!r:.40}", ""
    if width >= _PERHAPS_CODE_DIGITS:
        return "", f"has {distinct} different numbers of {width} digits in {len(numbers)} rows"
    return "", ""


def _says_id(name: str) -> bool:
    """Tell whether the name of a column says that it names something.

    >>> [_says_id(name) for name in ("PatientID", "customer_key", "userid", "paid", "bidPrice")]
    [True, True, True, False, False]
    """
    words = [word.casefold() for word in _WORD.findall(name)]
    return any(word in _ID_WORDS or _JOINED_ID.fullmatch(word) for word in words)
