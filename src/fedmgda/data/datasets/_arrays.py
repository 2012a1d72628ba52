"""Arrays in the cache: mapped into memory, never copied, whatever a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._npy import read_npy_header
from fedmgda._paths import kind_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["map_array"]


def map_array(path: Path) -> NDArray[Any]:
    """Map an npy file into memory, to be read only.

    Raises:
        ValueError: If there is none, or it is empty, cut short, damaged or of Python objects.
        DataError: If something else is in its place, as a pipe.
    """
    if kind_of(path) is None:
        raise ValueError("it is not there")
    try:
        with path.open("rb") as file:
            read_npy_header(file)
        return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # NumPy has many ways to refuse a file
        raise ValueError(str(error).rstrip(".") or type(error).__name__) from error
