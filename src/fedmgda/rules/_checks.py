"""What a rule refuses, in sentences: a misspelt name, a number that cannot be meant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Vector

__all__ = ["check_name", "check_positive", "nonnegative"]


def check_name(field: str, value: object, names: object) -> None:
    """Refuse a value that is not one of the names of a `Literal`."""
    if value not in get_args(names):
        listed = ", ".join(map(repr, get_args(names)))
        raise ValueError(f"{field} must be one of {listed}, got {value!r}.")


def check_positive(field: str, value: Any, *, or_zero: bool = False, instead: str = "") -> None:
    """Refuse what is not a positive number a float64 can hold."""
    try:
        valid = math.isfinite(value) and (value > 0 or (or_zero and value == 0))
    except (TypeError, OverflowError):  # not a number, or a whole number beyond float64
        valid = False
    if not valid:
        wanted = f"{'zero or ' if or_zero else ''}positive and finite{instead}"
        raise ValueError(f"{field} must be {wanted}, got {value}.")


def nonnegative(field: str, values: Vector) -> Vector:
    """Return the values as float64, of shape `(m,)`, or refuse the first that cannot be true."""
    values = np.asarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if len(wrong):
        raise ValueError(
            f"{field} must be finite and zero or positive, got {values[wrong[0]]:g} "
            f"in row {wrong[0]}: drop that client."
        )
    return values
