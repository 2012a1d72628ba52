"""Whether two values that JSON can say are the same, but for the rounding of sums."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["difference", "same_number"]

_SAME = 1e-9  # of a mean or a spread that is computed twice, perhaps on two machines


def difference(written: Any, found: Any, where: str = "") -> str | None:
    """Say where what was written differs from what is found; None where it does not.

    Keys that only one of them has are passed over: other versions had others.

    >>> difference({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]})
    'a is 2.0, and the records give 2.5'
    >>> difference({"a": 1.0, "old": 0}, {"a": 1.0 + 1e-15, "new": 3}) is None
    True
    """
    if isinstance(written, dict) and isinstance(found, dict):
        pairs = [(f"{where}.{k}".lstrip("."), written[k], found[k]) for k in written if k in found]
    elif isinstance(written, list) and isinstance(found, list) and len(written) == len(found):
        pairs = [(where, a, b) for a, b in zip(written, found, strict=True)]
    elif same_number(written, found):
        return None
    else:
        return f"{where or 'it'} is {_shown(written)}, and the records give {_shown(found)}"
    return next((said for place, a, b in pairs if (said := difference(a, b, place))), None)


def same_number(one: Any, other: Any) -> bool:
    """Tell whether two plain values are the same; NaN is NaN, and true is no number.

    >>> same_number(0.1 + 0.2, 0.3), same_number(1, True), same_number(float("nan"), float("nan"))
    (True, False, True)
    """
    numbers = [type(value) in {int, float} for value in (one, other)]
    if not all(numbers):
        return bool(one == other) and not any(numbers)
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) < 40 else f"{text[:36]}..."
