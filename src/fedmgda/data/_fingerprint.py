"""A short proof that data is the same as it was."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import DataError
from fedmgda.data.sources._checksums import sha256_of_file

if TYPE_CHECKING:
    from fedmgda.data._federated import FederatedData

__all__ = ["fingerprint"]


def fingerprint(data: FederatedData, *, mapped: bool = True) -> str:
    """Return the sha256 of the targets and the features, in hexadecimal digits.

    Features that are mapped into memory are read as the file they are mapped from, once in a
    process for each state of that file (its path, size and time of change).

    Args:
        data: The data of all clients.
        mapped: False leaves mapped features out, as run folders of format 1 did.

    Raises:
        DataError: If the file of mapped features cannot be read any more.
    """
    digest = hashlib.sha256(np.ascontiguousarray(data.targets).data)
    if not isinstance(data.features, np.memmap):
        digest.update(np.ascontiguousarray(data.features).data)
    elif mapped:
        digest.update(_content(data.features))
    return digest.hexdigest()


def _content(features: np.memmap) -> bytes | memoryview:
    """Return what stands for mapped features: the checksum of their file, if they have one.

    NumPy also gives this type to copies in memory, as when it joins two mapped arrays.
    """
    if features.filename is None:
        return np.ascontiguousarray(features).data
    path = Path(features.filename)
    try:
        state = path.stat()
        return bytes.fromhex(_sha256_of(path, state.st_size, state.st_mtime_ns))
    except OSError as error:
        raise DataError(f"{path} cannot be read again: {error.strerror}.") from error


@lru_cache(maxsize=16)
def _sha256_of(path: Path, size: int, mtime_ns: int) -> str:
    del size, mtime_ns  # they say for which state of the file the answer holds
    return sha256_of_file(path)
