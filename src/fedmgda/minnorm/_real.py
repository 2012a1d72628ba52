"""What is given to the solver, as real numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["as_real"]


def as_real(values: ArrayLike, name: str, *, single: bool = False) -> NDArray[Any]:
    """Return an array of float64, or raise a sentence where NumPy would drop imaginary parts.

    Args:
        values: The numbers.
        name: What they are called, for the message.
        single: Whether float32 stays what it is.

    >>> as_real([1, 2], "center").dtype
    dtype('float64')
    """
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} must be real, got an array of {array.dtype}.")
    return array if single and array.dtype == np.float32 else array.astype(np.float64, copy=False)
