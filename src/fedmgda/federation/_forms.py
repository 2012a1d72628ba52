"""What came instead of a number or an array: each function returns the reason, or None."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["not_an_array", "not_real", "not_text", "not_whole"]


def not_whole(name: str, value: object) -> str | None:
    """Say why a value is not a whole number of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return f"{name} is a {type(value).__name__}, not a whole number"
    return None if -(2**63) <= int(value) < 2**63 else f"{name} does not fit 64 bits"


def not_real(name: str, value: object) -> str | None:
    """Say why a value cannot be a float64; NaN and infinity can."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return f"{name} is a {type(value).__name__}, not a real number"
    try:
        float(value)
    except OverflowError:
        return f"{name} does not fit a float64"
    return None


def not_text(name: str, value: object) -> str | None:
    """Say why a value is not a string."""
    return None if isinstance(value, str) else f"{name} is a {type(value).__name__}, not a string"


def not_an_array(
    name: str, value: object, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> str | None:
    """Say why a value is not an array of exactly this shape and dtype."""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        return f"{name} is a {type(value).__name__}, not a plain array"
    if value.dtype == dtype and value.shape == shape:
        return None
    return f"{name} is {value.dtype} of shape {value.shape}, not {dtype} of shape {shape}"
