"""Partitions that deal examples evenly, in shards, or to whom they belong by nature.

A partition is a pure function of labels (or sizes), the number of clients and a generator; it
returns for each client the examples it holds. Together they hold every example exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Indices

__all__ = ["iid_partition", "natural_partition", "shard_partition"]


def iid_partition(num_examples: int, num_clients: int, rng: np.random.Generator) -> list[Indices]:
    """Deal shuffled examples into hands whose sizes differ by at most one.

    >>> [len(hand) for hand in iid_partition(10, 3, np.random.default_rng(0))]
    [4, 3, 3]
    """
    if num_clients > num_examples:
        raise DataError(f"{num_examples} examples cannot be dealt to {num_clients} clients.")
    return np.array_split(rng.permutation(num_examples), num_clients)


def shard_partition(
    labels: NDArray[Any], num_clients: int, shards_per_client: int, rng: np.random.Generator
) -> list[Indices]:
    """Sort by label, cut into equal shards, and give each client some of them at random.

    A client sees at most as many classes as it has shards, plus those a shard straddles.

    >>> labels = np.repeat([0, 1], 4)
    >>> hands = shard_partition(labels, 2, 1, np.random.default_rng(0))
    >>> sorted(labels[hand].tolist() for hand in hands)
    [[0, 0, 0, 0], [1, 1, 1, 1]]
    """
    num_shards = num_clients * shards_per_client
    if num_shards > len(labels):
        raise DataError(f"{len(labels)} examples cannot be cut into {num_shards} shards.")
    shards = np.array_split(np.argsort(labels, kind="stable"), num_shards)
    dealt = rng.permutation(num_shards).reshape(num_clients, shards_per_client)
    return [np.concatenate([shards[shard] for shard in hand]) for hand in dealt]


def natural_partition(groups: NDArray[Any]) -> list[Indices]:
    """Give every example to the client it belongs to; clients come in the order of their groups.

    Args:
        groups: Of shape `(n,)`: whose each example is, as numbers or as texts.

    >>> [hand.tolist() for hand in natural_partition(np.array([7, 3, 7]))]
    [[1], [0, 2]]
    """
    if len(groups) == 0:
        raise DataError("There are no examples to partition by their clients.")
    _, counts = np.unique(groups, return_counts=True)
    return np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
