"""Partitions, all of them by name, and those that deal evenly, in shards, or by nature.

A partition is a pure function of labels (or sizes), the number of clients and a generator; it
returns for each client the examples it holds. Together they hold every example exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda.data._dirichlet import dirichlet_partition, quantity_skew_partition
from fedmgda.data._label_quantity import label_quantity_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fedmgda._types import Indices
    from fedmgda.data._dataset import Settings
    from fedmgda.data._federated import Examples
    from fedmgda.data.own._encoding import Table

__all__ = ["PARTITIONS", "Partition", "iid_partition", "natural_partition", "shard_partition"]


def iid_partition(num_examples: int, num_clients: int, rng: np.random.Generator) -> list[Indices]:
    """Deal shuffled examples into portions whose sizes differ by at most one.

    >>> [len(portion) for portion in iid_partition(10, 3, np.random.default_rng(0))]
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
    >>> portions = shard_partition(labels, 2, 1, np.random.default_rng(0))
    >>> sorted(labels[portion].tolist() for portion in portions)
    [[0, 0, 0, 0], [1, 1, 1, 1]]
    """
    num_shards = num_clients * shards_per_client
    if num_shards > len(labels):
        raise DataError(f"{len(labels)} examples cannot be cut into {num_shards} shards.")
    shards = np.array_split(np.argsort(labels, kind="stable"), num_shards)
    dealt = rng.permutation(num_shards).reshape(num_clients, shards_per_client)
    return [np.concatenate([shards[shard] for shard in portion]) for portion in dealt]


def natural_partition(groups: NDArray[Any]) -> list[Indices]:
    """Give every example to the client it belongs to; clients come in the order of their groups.

    Args:
        groups: Of shape `(n,)`: whose each example is, as numbers or as texts.

    >>> [portion.tolist() for portion in natural_partition(np.array([7, 3, 7]))]
    [[1], [0, 2]]
    """
    if len(groups) == 0:
        raise DataError("There are no examples to partition by their clients.")
    _, counts = np.unique(groups, return_counts=True)
    return np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])


Deal: TypeAlias = "Callable[[Examples | Table, Settings, np.random.Generator], list[Indices]]"
"""Returns for each client its examples, for the data, the settings and the generator."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A way to deal examples to clients.

    Attributes:
        name: What a user types.
        title: What it does, in a few words.
        deal: The function itself.
        settings: The keys a spec may give for it, with their defaults.
        by_class: Whether it needs targets that are classes.
    """

    name: str
    title: str
    deal: Deal
    settings: Settings = field(default_factory=dict)
    by_class: bool = False


def _natural(
    source: Examples | Table, settings: Settings, rng: np.random.Generator
) -> list[Indices]:
    del settings, rng  # who holds what is given
    if source.groups is None:
        raise SpecError(
            "data.partition = 'natural' needs data that names its clients, and this does not; add "
            "them, or set data.partition to 'iid'."
        )
    return natural_partition(source.groups)


PARTITIONS: Mapping[str, Partition] = {
    partition.name: partition
    for partition in (
        Partition(
            name="shards",
            title="shards of one class, some for each client",
            deal=lambda source, settings, rng: shard_partition(
                source.targets, settings["num_clients"], settings["shards_per_client"], rng
            ),
            settings={"num_clients": 10, "shards_per_client": 2},
            by_class=True,
        ),
        Partition(
            name="iid",
            title="shuffled and dealt evenly",
            deal=lambda source, settings, rng: iid_partition(
                len(source.targets), settings["num_clients"], rng
            ),
            settings={"num_clients": 10},
        ),
        Partition(
            name="dirichlet",
            title="every class in proportions drawn from Dirichlet(alpha)",
            deal=lambda source, settings, rng: dirichlet_partition(
                source.targets,
                settings["num_clients"],
                settings["alpha"],
                rng,
                min_size=settings["min_size"],
            ),
            settings={"num_clients": 10, "alpha": 0.5, "min_size": 10},
            by_class=True,
        ),
        Partition(
            name="label-quantity",
            title="a few classes for each client",
            deal=lambda source, settings, rng: label_quantity_partition(
                source.targets, settings["num_clients"], settings["classes_per_client"], rng
            ),
            settings={"num_clients": 10, "classes_per_client": 2},
            by_class=True,
        ),
        Partition(
            name="quantity-skew",
            title="shuffled, in portions of very different size",
            deal=lambda source, settings, rng: quantity_skew_partition(
                len(source.targets),
                settings["num_clients"],
                settings["alpha"],
                rng,
                min_size=settings["min_size"],
            ),
            settings={"num_clients": 10, "alpha": 1.0, "min_size": 10},
        ),
        Partition(name="natural", title="to whom the examples belong", deal=_natural),
    )
}
"""All partitions, by name."""
