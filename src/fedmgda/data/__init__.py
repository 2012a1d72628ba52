"""Data as federations: sources, partitions and local splits."""

from fedmgda.data._digits import load_digits
from fedmgda.data._examples import Examples
from fedmgda.data._federated import FederatedData, Pixels, Split
from fedmgda.data._partitions import iid_partition, shard_partition
from fedmgda.data._splits import LocalSplit, split_locally

__all__ = [
    "Examples",
    "FederatedData",
    "LocalSplit",
    "Pixels",
    "Split",
    "iid_partition",
    "load_digits",
    "shard_partition",
    "split_locally",
]
