"""Data as federations: sources, partitions and local splits."""

from fedmgda.data._check import check_federation
from fedmgda.data._digits import load_digits
from fedmgda.data._dirichlet import dirichlet_partition, quantity_skew_partition
from fedmgda.data._examples import Examples
from fedmgda.data._federate import federate
from fedmgda.data._federated import FederatedData, Pixels, Split
from fedmgda.data._femnist import load_femnist
from fedmgda.data._files import load_folder, load_own
from fedmgda.data._label_quantity import label_quantity_partition
from fedmgda.data._npz import load_npz
from fedmgda.data._partitions import iid_partition, natural_partition, shard_partition
from fedmgda.data._shakespeare import VOCABULARY, TextSplit, encode_text, load_shakespeare
from fedmgda.data._splits import LocalSplit, split_locally
from fedmgda.data._synthetic import quadratic_federation, quadratic_optima, synthetic_federation
from fedmgda.data._table import Table, encode_table
from fedmgda.data._tables import Task, load_table
from fedmgda.data._writers import load_writers

__all__ = [
    "VOCABULARY",
    "Examples",
    "FederatedData",
    "LocalSplit",
    "Pixels",
    "Split",
    "Table",
    "Task",
    "TextSplit",
    "check_federation",
    "dirichlet_partition",
    "encode_table",
    "encode_text",
    "federate",
    "iid_partition",
    "label_quantity_partition",
    "load_digits",
    "load_femnist",
    "load_folder",
    "load_npz",
    "load_own",
    "load_shakespeare",
    "load_table",
    "load_writers",
    "natural_partition",
    "quadratic_federation",
    "quadratic_optima",
    "quantity_skew_partition",
    "shard_partition",
    "split_locally",
    "synthetic_federation",
]
