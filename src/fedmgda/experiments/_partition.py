"""Who holds which examples, as a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.data import fingerprint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda.data import FederatedData, Split

__all__ = ["partition_bytes"]

_SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def partition_bytes(data: FederatedData) -> bytes:
    """Return an npz archive with the rows and sizes of every client in every split.

    The same federation gives the same bytes. The fingerprint covers targets and features; features
    in a memory-mapped file are left out, because the data cache has checked that file already.
    """
    arrays: dict[str, NDArray[Any]] = {"fingerprint": np.array(fingerprint(data, mapped=False))}
    for split in _SPLITS:
        rows = data.split(split)
        arrays[f"{split}_rows"] = np.concatenate([np.empty(0, np.int64), *rows])
        arrays[f"{split}_sizes"] = np.array([len(mine) for mine in rows], dtype=np.int64)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()
