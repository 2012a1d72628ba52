"""Arrays in one file, the same bytes for the same arrays, and read without trusting a byte."""

from __future__ import annotations

import io
import math
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._npy import read_npy_header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["npy_array", "npz_arrays", "npz_bytes"]


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an archive that `numpy.load` reads."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def npz_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive that `npz_bytes` made; they cannot be written to.

    Raises:
        ValueError: If it is anything else: compressed, damaged, or with arrays of objects or of
            other sizes than their headers say.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in archive.infolist()
            }
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError, EOFError) as error:
        raise ValueError(str(error) or "it is cut short") from error


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{entry.filename} is compressed")  # a few bytes could become billions
    return npy_array(archive.read(entry), entry.filename)


def npy_array(content: bytes, name: str) -> NDArray[Any]:
    """Return the array of a file in the npy format; it cannot be written to.

    Args:
        content: The file.
        name: What it is called, for the message.

    Raises:
        ValueError: If it is anything else, holds objects, or not as many bytes as its header says.
    """
    try:  # NumPy has many ways to refuse a type, a shape or a buffer
        return _read_npy(content)
    except Exception as error:
        raise ValueError(f"{name!r:.60} is no array ({type(error).__name__}: {error})") from error


def _read_npy(content: bytes) -> NDArray[Any]:
    file = io.BytesIO(content)
    shape, fortran, dtype = read_npy_header(file)
    start = file.tell()
    if dtype.hasobject:
        raise ValueError("its header says what no array of numbers has")
    if dtype.itemsize * math.prod(shape) != len(content) - start:
        raise ValueError("it does not hold what its header says")
    flat = np.frombuffer(content, dtype, offset=start)
    return flat.reshape(shape, order="F" if fortran else "C")
