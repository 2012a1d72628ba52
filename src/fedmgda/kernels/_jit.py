"""How the kernels are compiled: once per machine, without the interpreter's lock."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numba import njit

from fedmgda.kernels._kept import keep_on_disk

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STAMP", "entry", "inner_product", "kernel"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

# A product and the sum it goes into may be fused; nothing else is rounded in another way than it is
# written, so that every compilation gives the same numbers. NaN and Inf keep their meaning.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}

# In an inner product the terms may be summed in any order, which is what lets the compiler use
# whole vectors. Its choice depends on the loop alone. No other function has these flags.
_SUM_OPTIONS = _OPTIONS | {"fastmath": {"contract", "reassoc", "nsz"}}

STAMP = zlib.crc32(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
)
"""Changes with any file of this package; see `entry`."""


def kernel(function: _Function) -> _Function:
    """Compile a function into its caller."""
    compiled: _Function = njit(**_OPTIONS)(function)
    return compiled


def inner_product(function: _Function) -> _Function:
    """Compile a function that does nothing but to sum products."""
    compiled: _Function = njit(**_SUM_OPTIONS)(function)
    return compiled


def entry(function: _Function) -> _Function:
    """Compile a function at its first call and keep the result on disk for the next process.

    The compiler looks at the file of the function alone when it asks whether the stored result is
    still good. A function that refers to a variable of an enclosing function is stored under the
    value of that variable too: entries refer to `STAMP` in this way, and so never outlive a kernel.
    """
    compiled: _Function = njit(**_OPTIONS)(function)
    keep_on_disk(compiled, function)
    return compiled
