"""Data as federations: data sets, partitions and local splits.

`DATASETS` and `PARTITIONS` are the tables of what a spec can name.
"""

from fedmgda.data._catalogue import (
    DATASETS,
    dataset_folder,
    fetch,
    find_dataset,
    find_origin,
    import_folder,
    is_cached,
    verify,
)
from fedmgda.data._check_federation import check_federation
from fedmgda.data._curvature import loss_curvatures
from fedmgda.data._dataset import Dataset, Settings
from fedmgda.data._dirichlet import dirichlet_partition, quantity_skew_partition
from fedmgda.data._facts import data_facts, target_sums
from fedmgda.data._federate import LocalSplit, federate, split_locally
from fedmgda.data._federated import Examples, FederatedData, Pixels, Split
from fedmgda.data._fingerprint import fingerprint
from fedmgda.data._label_quantity import label_quantity_partition
from fedmgda.data._part import FederationPart, part_of
from fedmgda.data._partitions import (
    PARTITIONS,
    Partition,
    iid_partition,
    natural_partition,
    shard_partition,
)
from fedmgda.data._small_clients import leave_out_small_clients
from fedmgda.data.datasets._adult import encode_adult, load_adult, read_adult
from fedmgda.data.datasets._cifar10 import load_cifar10
from fedmgda.data.datasets._digits import load_digits
from fedmgda.data.datasets._femnist import load_femnist
from fedmgda.data.datasets._mnist import load_fashion_mnist, load_mnist
from fedmgda.data.datasets._shakespeare import VOCABULARY, TextSplit, encode_text, load_shakespeare
from fedmgda.data.datasets._synthetic import (
    quadratic_federation,
    quadratic_optima,
    synthetic_federation,
)
from fedmgda.data.datasets._writers import load_writers
from fedmgda.data.own._columns import RawColumn, RawTable, read_columns
from fedmgda.data.own._encoder import EncodedColumn, Encoder
from fedmgda.data.own._encoding import Encoding, Table, encode_table, encoder_of
from fedmgda.data.own._files import FILE_COLUMN, load_folder, load_own, read_own, read_raw
from fedmgda.data.own._given_rows import raw_rows
from fedmgda.data.own._guess import Guess, group_sizes, guess_client, guess_target
from fedmgda.data.own._header import read_headers
from fedmgda.data.own._inspect import ColumnFacts, ColumnKind, inspect_columns
from fedmgda.data.own._npz import load_npz
from fedmgda.data.own._owners import client_order
from fedmgda.data.own._schema import GivenColumn, GivenSchema, schema_of
from fedmgda.data.own._statistics import (
    ColumnSchema,
    Schema,
    Statistics,
    add_statistics,
    make_encoder,
    statistics_of,
)
from fedmgda.data.own._sums import Sums, sums_of
from fedmgda.data.own._table import LearningTask, TableSettings, load_table, make_table
from fedmgda.data.own._table_notes import rare_notes
from fedmgda.data.own._values import Column, missing_rows, texts_of
from fedmgda.data.sources._cache import cache_root
from fedmgda.data.sources._origin import Origin, Step
from fedmgda.data.sources._verify import FileCheck, Verification

__all__ = [
    "DATASETS",
    "FILE_COLUMN",
    "PARTITIONS",
    "VOCABULARY",
    "Column",
    "ColumnFacts",
    "ColumnKind",
    "ColumnSchema",
    "Dataset",
    "EncodedColumn",
    "Encoder",
    "Encoding",
    "Examples",
    "FederatedData",
    "FederationPart",
    "FileCheck",
    "GivenColumn",
    "GivenSchema",
    "Guess",
    "LearningTask",
    "LocalSplit",
    "Origin",
    "Partition",
    "Pixels",
    "RawColumn",
    "RawTable",
    "Schema",
    "Settings",
    "Split",
    "Statistics",
    "Step",
    "Sums",
    "Table",
    "TableSettings",
    "TextSplit",
    "Verification",
    "add_statistics",
    "cache_root",
    "check_federation",
    "client_order",
    "data_facts",
    "dataset_folder",
    "dirichlet_partition",
    "encode_adult",
    "encode_table",
    "encode_text",
    "encoder_of",
    "federate",
    "fetch",
    "find_dataset",
    "find_origin",
    "fingerprint",
    "group_sizes",
    "guess_client",
    "guess_target",
    "iid_partition",
    "import_folder",
    "inspect_columns",
    "is_cached",
    "label_quantity_partition",
    "leave_out_small_clients",
    "load_adult",
    "load_cifar10",
    "load_digits",
    "load_fashion_mnist",
    "load_femnist",
    "load_folder",
    "load_mnist",
    "load_npz",
    "load_own",
    "load_shakespeare",
    "load_table",
    "load_writers",
    "loss_curvatures",
    "make_encoder",
    "make_table",
    "missing_rows",
    "natural_partition",
    "part_of",
    "quadratic_federation",
    "quadratic_optima",
    "quantity_skew_partition",
    "rare_notes",
    "raw_rows",
    "read_adult",
    "read_columns",
    "read_headers",
    "read_own",
    "read_raw",
    "schema_of",
    "shard_partition",
    "split_locally",
    "statistics_of",
    "sums_of",
    "synthetic_federation",
    "target_sums",
    "texts_of",
    "verify",
]
