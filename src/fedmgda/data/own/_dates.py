"""Texts and numbers that are dates or times of day."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["are_day_numbers", "is_date"]

_YEAR, _MONTH, _DAY = r"(19|20|21)\d\d", r"(0?[1-9]|1[0-2])", r"(0?[1-9]|[12]\d|3[01])"
_NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ZONE = r"(\s?(z|utc|gmt|[+-]\d\d:?\d\d))?"
_TIME = rf"([01]?\d|2[0-4]):[0-5]\d(:[0-6]\d([.,]\d+)?)?(\s?[ap]\.?m\.?)?{_ZONE}"
_DATES = (
    rf"{_YEAR}[-/.]{_MONTH}([-/.]{_DAY})?",  # 2024-01-31, and the month alone
    rf"({_DAY}[-/.]{_MONTH}|{_MONTH}[-/.]{_DAY})[-/.]({_YEAR}|\d\d)",  # 31/01/2024, 1/31/24
    rf"{_DAY}[ .-]+{_NAME}[ .,-]+({_YEAR}|\d\d)",  # 31 Jan 2024
    rf"{_NAME}[ .-]+({_DAY}(st|nd|rd|th)?[ .,-]+)?{_YEAR}",  # January 31, 2024
)
_DATE = re.compile(rf"({'|'.join(_DATES)})([t ]\s*{_TIME})?|{_TIME}")
_LONGEST = 48
_FIRST_DAY, _LAST_DAY = 19_000_101, 21_001_231


def is_date(text: str) -> bool:
    """Tell whether a text is a date, a time of day, or both.

    >>> [is_date(text) for text in ("2024-01-31T10:00:00Z", "31/01/2024", "12.5", "1.2.3.4")]
    [True, True, False, False]
    """
    return len(text) <= _LONGEST and _DATE.fullmatch(text.casefold()) is not None


def are_day_numbers(numbers: NDArray[np.float64]) -> bool:
    """Tell whether whole numbers are all days such as 20240131.

    >>> are_day_numbers(np.array([20240131.0, 19991231.0])), are_day_numbers(np.array([20241331.0]))
    (True, False)
    """
    inside = (numbers >= _FIRST_DAY) & (numbers <= _LAST_DAY)
    if len(numbers) == 0 or not inside.all():
        return False
    month, day = numbers // 100 % 100, numbers % 100
    return bool(np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))
