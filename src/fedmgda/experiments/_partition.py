"""Who holds which examples, as a file: enough to see later that the data is still the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fedmgda._types import Split
from fedmgda.experiments._npz import npz_arrays, npz_bytes
from fedmgda.values import ClientFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data import FederatedData
    from fedmgda.values import Tensor

__all__ = [
    "data_facts",
    "data_fingerprint",
    "is_same_partition",
    "partition_bytes",
    "partition_sizes",
]

_SPLITS: tuple[Split, ...] = get_args(Split)


def partition_bytes(facts: ClientFacts) -> bytes:
    """Return an npz archive with the sizes of every client in every split, and a fingerprint.

    Where the server knows which examples they are, these are in it too. The same clients give the
    same bytes.
    """
    return npz_bytes(_arrays(facts))


def is_same_partition(content: bytes, facts: ClientFacts, also: Collection[str] = ()) -> bool:
    """Tell whether a stored partition is that of the clients.

    Args:
        content: The archive.
        facts: What is known of the clients.
        also: Further fingerprints that are right: format 1 left memory-mapped features out.
    """
    if content == partition_bytes(facts):
        return True
    try:
        stored = npz_arrays(content)
    except ValueError:
        return False
    fingerprint = str(stored.pop("fingerprint", ""))
    expected = _arrays(facts)
    del expected["fingerprint"]
    return (
        fingerprint in {facts.fingerprint, *also}
        and stored.keys() == expected.keys()
        and all(np.array_equal(stored[name], array) for name, array in expected.items())
    )


def partition_sizes(content: bytes) -> Mapping[Split, Indices]:
    """Return how many examples each client has, by split.

    Raises:
        ValueError: If the archive is damaged.
    """
    arrays = npz_arrays(content)
    try:
        return {split: arrays[f"{split}_sizes"] for split in _SPLITS}
    except KeyError as error:
        raise ValueError(f"the array {error} is missing") from error


def data_facts(data: FederatedData, layout: tuple[Tensor, ...] = ()) -> ClientFacts:
    """Return what a server may know about clients whose data is here."""
    splits: dict[Split, Sequence[Indices]] = {split: data.split(split) for split in _SPLITS}
    return ClientFacts(
        sizes={s: np.array([len(mine) for mine in rows], np.int64) for s, rows in splits.items()},
        rows={s: np.concatenate([np.empty(0, np.int64), *rows]) for s, rows in splits.items()},
        fingerprint=data_fingerprint(data),
        layout=layout,
        num_classes=data.num_classes,
    )


def data_fingerprint(data: FederatedData, *, mapped: bool = True) -> str:
    """Return a digest of targets and features, in hexadecimal digits.

    Args:
        data: The data of all clients.
        mapped: False leaves memory-mapped features out, as format 1 did.
    """
    digest = hashlib.sha256(np.ascontiguousarray(data.targets).data)
    if mapped or not isinstance(data.features, np.memmap):
        digest.update(np.ascontiguousarray(data.features).data)
    return digest.hexdigest()


def _arrays(facts: ClientFacts) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {"fingerprint": np.array(facts.fingerprint)}
    for split in _SPLITS:
        if facts.rows is not None:
            arrays[f"{split}_rows"] = facts.rows[split]
        arrays[f"{split}_sizes"] = facts.sizes[split]
    return arrays
