"""How the kernels are compiled: once per machine, without the interpreter's lock."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STAMP", "entry", "kernel"]

_Function = TypeVar("_Function", bound="Callable[..., Any]")

# Sums may be reordered and products fused, which is what lets the compiler use whole vectors.
# NaN and Inf keep their meaning: a diverged client must be seen as one.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
}

STAMP = zlib.crc32(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
)
"""Changes with any file of this package; see `entry`."""


def kernel(function: _Function) -> _Function:
    """Compile a function into its caller."""
    compiled: _Function = njit(**_OPTIONS)(function)
    return compiled


def entry(function: _Function) -> _Function:
    """Compile a function at its first call and keep the result on disk for the next process.

    The compiler looks at the file of the function alone when it asks whether the stored result is
    still good. A function that refers to a variable of an enclosing function is stored under the
    value of that variable too: entries refer to `STAMP` in this way, and so never outlive a kernel.
    """
    compiled: _Function = njit(cache=True, **_OPTIONS)(function)
    return compiled
