"""Which column says whose a row is, and which one to predict: guesses, each with its reason."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.data.own._codes import are_codes
from fedmgda.data.own._values import missing_rows, parse_numbers, texts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from fedmgda.data.own._columns import RawTable
    from fedmgda.data.own._inspect import ColumnFacts

__all__ = ["Guess", "group_sizes", "guess_client", "guess_target"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDING = re.compile(r"(?<=...)(ids?|nr|no|num|code|name|key|s)$")
_CLIENTS = (
    "client", "hospital", "clinic", "site", "center", "centre", "branch", "bank", "store", "shop",
    "school", "college", "university", "company", "firm", "plant", "factory", "farm", "plot",
    "station", "device", "sensor", "machine", "user", "household", "family", "patient", "subject",
    "customer", "member", "carrier", "airline", "department", "dept", "team", "neighborhood",
    "neighbourhood", "quarter", "precinct", "city", "town", "village", "commune", "parish",
    "municipality", "lea", "district", "county", "province", "state", "country", "nation", "region",
    "continent", "zone", "location", "island", "group",
)  # fmt: skip
_WHOLE_TARGETS = ("target", "label", "class", "y", "outcome", "response", "result", "status")
_TARGETS = (
    "target", "label", "outcome", "diagnosis", "default", "churn", "fraud", "spam", "survived",
    "death", "dead", "died", "species", "price", "choice", "expectancy", "wage", "salary", "income",
    "charges", "cost", "revenue", "sales", "rating", "score", "delay",
)  # fmt: skip
_NO_CODES = ("date", "time", "year", "month", "week", "weekday", "day", "hour", "minute", "age")
_NO_TARGETS = (
    "id", "date", "time", "year", "month", "day", "lat", "latitude", "lon", "long", "longitude",
    "name", "student", "person", *_CLIENTS,
)  # fmt: skip
_ENOUGH_ROWS, _COVERED = 10, 0.9
_SHOWN = 3


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A column, and how sure that is.

    Attributes:
        name: The column; None if none will do.
        why: How it was found: the end of a sentence that begins with its name.
        sure: Whether its name says so.
        others: Up to three columns that it could be instead, the likeliest first.
    """

    name: str | None
    why: str = ""
    sure: bool = False
    others: tuple[str, ...] = ()


def group_sizes(raw: RawTable, name: str) -> Counter[str]:
    """Return how many rows each value of a column has, missing ones apart."""
    column = raw.columns[name]
    gone = missing_rows(column)
    return Counter(text for text, miss in zip(texts_of(column), gone, strict=True) if not miss)


def guess_client(raw: RawTable, facts: Sequence[ColumnFacts]) -> Guess:
    """Guess the column that says whose a row is.

    At most half of its values are missing, and nine in ten of the others belong to groups of ten
    rows or more, of which there are at least two. Among those one whose name says so is taken, of
    several the one that names the smaller kind of place or person; else the categories or codes
    with most groups that are not named like a target, which is unsure.
    """
    codes = _code_columns(raw, facts)
    named, others = [], []
    for fact in facts:
        rank = _rank(fact.name, _CLIENTS)
        if fact.kind in {"date", "constant", "empty"} or _misses_most(raw, fact):
            continue
        kinds = fact.kind == "category" or fact.name in codes
        if rank is None and not (kinds and _target_rank(fact.name) is None):
            continue
        sizes = group_sizes(raw, fact.name)
        if not _has_groups(raw, fact, sizes):
            continue
        if rank is None:
            others.append((-len(sizes), fact.name))
        else:
            named.append((rank, fact.name))
    names = [name for _, name in (*sorted(named), *sorted(others))]
    why = "is named like one" if named else "has the most groups of the columns with enough rows"
    return _first(names, why, sure=bool(named))


def guess_target(raw: RawTable, facts: Sequence[ColumnFacts], taken: Collection[str]) -> Guess:
    """Guess the column to predict: one whose name says so, else the last, which is unsure.

    Ids, codes, dates, constants and columns that miss more than half of their values are none; nor
    is what is `taken`. Places and times come last.
    """
    taken = {*taken, *_code_columns(raw, facts)}
    fit = [
        fact.name
        for fact in facts
        if fact.kind in {"number", "category"} and fact.num_distinct > 1
        if not _misses_most(raw, fact) and fact.name not in taken
    ]
    ranks = {name: _target_rank(name) for name in reversed(fit)}
    names = sorted((name for name in ranks if ranks[name] is not None), key=lambda n: ranks[n] or 0)
    rest = [name for name in ranks if ranks[name] is None]
    rest.sort(key=lambda name: _rank(name, _NO_TARGETS) is not None)
    why = "is named like one" if names else "is the last column that could be one"
    return _first([*names, *rest], why, sure=bool(names))


def _misses_most(raw: RawTable, fact: ColumnFacts) -> bool:
    return 2 * fact.num_missing > len(raw.rows)


def _code_columns(raw: RawTable, facts: Sequence[ColumnFacts]) -> set[str]:
    """Return the columns of numbers that look like codes and are not called otherwise."""
    return {
        fact.name
        for fact in facts
        if fact.kind == "number" and are_codes(_known_numbers(raw, fact))
        if _target_rank(fact.name) is None and _rank(fact.name, _NO_CODES) is None
    }


def _known_numbers(raw: RawTable, fact: ColumnFacts) -> NDArray[np.float64]:
    numbers = parse_numbers(raw.columns[fact.name])[0]
    return numbers[np.isfinite(numbers)]


def _target_rank(name: str) -> int | None:
    """Return how much a name says that it is the target, 0 the most; None if it does not."""
    if name.casefold() in _WHOLE_TARGETS:
        return _WHOLE_TARGETS.index(name.casefold())
    rank = _rank(name, _TARGETS)
    return None if rank is None else len(_WHOLE_TARGETS) + rank


def _first(names: Sequence[str], why: str, *, sure: bool) -> Guess:
    if not names:
        return Guess(name=None)
    return Guess(name=names[0], why=why, sure=sure, others=tuple(names[1 : 1 + _SHOWN]))


def _has_groups(raw: RawTable, fact: ColumnFacts, sizes: Counter[str]) -> bool:
    if fact.kind == "number":
        numbers = _known_numbers(raw, fact)
        if not np.all(numbers == np.rint(numbers)):
            return False
    large = [size for size in sizes.values() if size >= _ENOUGH_ROWS]
    return len(large) >= 2 and sum(large) >= _COVERED * sizes.total()


def _rank(name: str, words: Sequence[str]) -> int | None:
    """Return the place of the first of some words that a name contains.

    >>> _rank("schoolNR", ("shop", "school")), _rank("addr_state", ("state",))
    (1, 0)
    >>> _rank("statement", ("state",)) is None
    True
    """
    parts = {part.casefold() for part in _WORD.findall(name)}
    parts |= {_ENDING.sub("", part) for part in parts}
    return next((rank for rank, word in enumerate(words) if word in parts), None)
