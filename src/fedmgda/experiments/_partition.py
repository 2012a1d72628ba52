"""Who holds which examples, as a file: enough to see later that the data is still the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fedmgda._types import Split
from fedmgda.experiments._npz import npz_arrays, npz_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Vector
    from fedmgda.values import ClientFacts

__all__ = [
    "is_packed_otherwise",
    "is_same_partition",
    "partition_bytes",
    "partition_fingerprint",
    "partition_holdings",
    "partition_sizes",
    "partition_target_sums",
]

_SPLITS: tuple[Split, ...] = get_args(Split)


def partition_bytes(facts: ClientFacts) -> bytes:
    """Return an npz archive with the sizes of every client in every split, and a fingerprint.

    Where the server knows which examples they are, these are in it too, as are the sums of the
    targets. The same clients give the same bytes.
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
    if "target_sums" not in stored:  # folders of earlier versions know nothing of them
        expected.pop("target_sums", None)
    return (
        fingerprint in {facts.fingerprint, *also}
        and stored.keys() == expected.keys()
        and all(np.array_equal(stored[name], array) for name, array in expected.items())
    )


def is_packed_otherwise(content: bytes, facts: ClientFacts) -> bool:
    """Tell whether a stored partition says what `partition_bytes` says, array by array, in others.

    An archive has bytes that no array depends on, such as dates.
    """
    try:
        stored = npz_arrays(content)
    except ValueError:
        return False
    expected = _arrays(facts)
    same = stored.keys() == expected.keys() and all(
        np.array_equal(stored[name], array) for name, array in expected.items()
    )
    return same and content != partition_bytes(facts)


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


def partition_fingerprint(content: bytes) -> str:
    """Return the fingerprint of the data, with which everything about it changes.

    Raises:
        ValueError: If the archive is damaged.
    """
    return str(npz_arrays(content).get("fingerprint", ""))


def partition_holdings(content: bytes) -> tuple[str, ...]:
    """Return for every client a digest of the rows it holds, in whichever split, and of the data.

    Where the server knows no rows, the data and the number of the client stand for them.

    Raises:
        ValueError: If the archive is damaged.
    """
    arrays, sizes = npz_arrays(content), partition_sizes(content)
    digests = [hashlib.sha256(partition_fingerprint(content).encode()) for _ in sizes["train"]]
    if not all(f"{split}_rows" in arrays for split in _SPLITS):
        return tuple(f"{one.hexdigest()} {client}" for client, one in enumerate(digests))
    for split in _SPLITS:
        if len(sizes[split]) != len(digests) or sizes[split].sum() != arrays[f"{split}_rows"].size:
            raise ValueError(f"its {split} rows are not as many as its sizes say")
    held = [np.split(arrays[f"{split}_rows"], np.cumsum(sizes[split])[:-1]) for split in _SPLITS]
    for client, digest in enumerate(digests):
        rows = np.sort(np.concatenate([mine[client] for mine in held]))
        digest.update(rows.astype(np.int64).tobytes())
    return tuple(digest.hexdigest() for digest in digests)


def partition_target_sums(content: bytes) -> Vector | None:
    """Return the `target_sums` of the clients; None where they were not known.

    Raises:
        ValueError: If the archive is damaged.
    """
    return npz_arrays(content).get("target_sums")


def _arrays(facts: ClientFacts) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {"fingerprint": np.array(facts.fingerprint)}
    for split in _SPLITS:
        if facts.rows is not None:
            arrays[f"{split}_rows"] = facts.rows[split]
        arrays[f"{split}_sizes"] = facts.sizes[split]
    if facts.target_sums is not None:
        arrays["target_sums"] = facts.target_sums
    return arrays
