"""The header of an array in NumPy's format, read without evaluating it."""

from __future__ import annotations

import re
import struct
from typing import IO, Any, NamedTuple

import numpy as np

__all__ = ["NpyHeader", "read_npy_header"]

_LENGTHS = {(1, 0): struct.Struct("<H"), (2, 0): struct.Struct("<I")}
_LONGEST = 10_000  # characters, as NumPy has it
_ITEM = re.compile(
    r"""\s*(['"])(?P<key>\w+)\1\s*:\s*"""
    r"""(?:(['"])(?P<descr>[<>|=][biufcSUVmMO]\d*(?:\[\w+\])?)\3|(?P<flag>True|False)"""
    r"""|\((?P<shape>[\d,\s]*)\))\s*(?:,|$)"""
)


class NpyHeader(NamedTuple):
    """What a header says.

    Attributes:
        shape: Of the array.
        fortran: Whether its first index runs fastest.
        dtype: Of its entries.
    """

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


def read_npy_header(file: IO[bytes]) -> NpyHeader:
    """Read the header of an array of numbers or texts, up to the first byte of its content.

    NumPy evaluates a header as Python, and warns of old ones; here it is matched.

    Raises:
        ValueError: If it is none.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.zeros((2, 3), np.float32))
    >>> _ = buffer.seek(0)
    >>> read_npy_header(buffer)
    NpyHeader(shape=(2, 3), fortran=False, dtype=dtype('float32'))
    """
    length = _LENGTHS.get(np.lib.format.read_magic(file))
    if length is None:
        raise ValueError("its format is newer than 2.0")
    (size,) = length.unpack(file.read(length.size).ljust(length.size, b"\0"))
    if size > _LONGEST:
        raise ValueError(f"its header has {size} bytes")
    text = file.read(size).decode("latin-1").strip()
    found = dict[str, str]()
    if text.startswith("{") and text.endswith("}"):
        place, text = 0, text[1:-1].rstrip()
        while place < len(text) and (item := _ITEM.match(text, place)):
            found[item["key"]] = item["descr"] or item["flag"] or f"({item['shape']})"
            place = item.end()
        if place < len(text):
            found = {}
    if found.keys() != {"descr", "fortran_order", "shape"} or found["shape"][:1] != "(":
        raise ValueError("its header is not that of a plain array")
    sides = found["shape"].strip("()").split(",")
    return NpyHeader(
        shape=tuple(int(side) for side in sides if side.strip()),
        fortran=found["fortran_order"] == "True",
        dtype=np.dtype(found["descr"]),
    )
