"""The tables `data` and `model` of a spec: what is learned from, and what learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

from fedmgda.data import DATASETS, PARTITIONS, GivenSchema
from fedmgda.experiments._spec_key import MOST_CLIENTS, key
from fedmgda.models import MODELS

__all__ = ["DataSpec", "ModelSpec"]

_OPTIONS = (
    "Arguments of the function that `{name}` names: a table of texts, numbers, truth values and "
    "lists of them, as in `options = {{ size = 100 }}`."
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """Which data, and who holds it; which keys apply depends on the name and the partition."""

    name: str | None = key(
        None,
        "Which data: a data set of ours, `table` for a file of your own (`data.path` implies it), "
        "or a function of yours that returns a `fedmgda.FederatedData`.",
        unset='`"digits"`',
        see="data.md",
        names=DATASETS,
        entry=True,
    )
    path: str | None = key(
        None,
        "Your own file (csv, tsv, parquet, npz) or a folder of one file per client; then the name "
        "is `table`.",
        see="data.md#your-own-data",
    )
    client: str | None = key(
        None, "The column of `data.path` that says whose row each is.", see="tables.md"
    )
    target: str | None = key(
        None, "The column of `data.path` that is to be predicted.", see="tables.md"
    )
    features: tuple[str, ...] | None = key(None, "The columns to predict from.", unset="all others")
    ignore: tuple[str, ...] | None = key(
        None, "Columns to leave out of the features that are not named one by one."
    )
    encoding: Literal["plain", "guarded"] | None = key(
        None,
        '`"guarded"`: ids, dates and constants, and rows without a target or a client, are left '
        "out with a note, numbers clipped to 5 deviations, rare categories share zeros. "
        '`"plain"`: what 0.2 did, and what a spec of a run folder without this key means.',
        unset='`"guarded"` for tables',
        see="data.md#your-own-data",
    )
    min_rows: int | None = key(
        None,
        "Clients with fewer rows are left out, and named in a note; with "
        '`encoding = "plain"` the default is to refuse those with fewer than 3.',
        unset="10 for tables",
        low=3,
    )
    task: Literal["classification", "regression"] | None = key(
        None, "Whether classes or values are predicted.", unset="guessed from the target"
    )
    partition: str | None = key(
        None,
        "How examples are dealt to clients; `natural` is by the column of a table, or by nature.",
        unset="by the data",
        see="data.md",
        names=PARTITIONS,
    )
    num_clients: int | None = key(
        None,
        "How many clients, where a partition deals the examples or roles are chosen.",
        unset="by the data",
        low=1,
        high=MOST_CLIENTS,
    )
    shards_per_client: int | None = key(
        None,
        "Label-sorted pieces a client gets, for `shards`.",
        unset="2; 5 for images (3 of Fashion-MNIST by the released code)",
        low=1,
    )
    classes_per_client: int | None = key(
        None, "Classes a client holds, for `label-quantity`.", unset="2", low=1
    )
    alpha: float | None = key(
        None,
        "How alike clients are, for `dirichlet` and `quantity-skew` (larger: more alike); for "
        "`synthetic`, how much their models differ.",
        unset="0.5 for `dirichlet`; 1.0 for the others",
        low=0.0,
    )
    beta: float | None = key(
        None, "For `synthetic`: how much the clients' features differ.", unset="1.0", low=0.0
    )
    min_size: int | None = key(
        None,
        "The fewest examples of a client, for `dirichlet` and `quantity-skew`.",
        unset="10",
        low=3,
    )
    index_shift: int | None = key(
        None,
        "For `adult`: 1 is the released code's off-by-one.",
        unset="by `compat`",
        see="specification.md#03-the-published-phd-client-of-adult-holds-the-wrong-rows",
        low=0,
        high=1,
    )
    max_windows: int | None = key(
        None,
        "For `shakespeare`: how many windows a role keeps at most for training and for testing, "
        "each drawn at random.",
        unset="all of them",
        low=1,
    )
    local_split: Literal["shuffled", "tail", "temporal", "random"] | None = key(
        None,
        "How a client's rows are cut 80 / 10 / 10 into training, validation and test: "
        '`"shuffled"` or `"tail"`; for `shakespeare` `"temporal"` or `"random"`.',
        unset="by `compat`",
    )
    options: dict[str, Any] | None = key(None, _OPTIONS.format(name="data.name"))
    schema: GivenSchema | None = key(
        None,
        "What the files look like, agreed on before one is read, for nodes that hold their own "
        "(`fedmgda flower schema` makes it): `columns`, a list of tables with `name`, `kind` "
        '("number" or "category") and, of categories, `categories`; `classes` of the target, or '
        'none for a regression; `unknown`, "missing" or "refuse", what a category that is not '
        "listed means. Nothing is guessed then, every category listed is a feature, and what is "
        "missing is none of them.",
        see="flower.md#nodes-with-their-own-files",
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Which model; by default the one that belongs to the data."""

    name: str | None = key(
        None,
        "Which model: one of ours, or a function of yours that returns a `torch.nn.Module`.",
        unset="by the data",
        names=MODELS,
        entry=True,
    )
    hidden: tuple[int, ...] | None = key(
        None, "Widths of the hidden layers of `mlp`.", unset="`[32]`", low=1, high=1_000_000
    )
    dropout: bool | None = key(None, "Whether `fmnist-cnn` has its dropout.", unset="true")
    options: dict[str, Any] | None = key(None, _OPTIONS.format(name="model.name"))
    init: str | None = key(
        None,
        "Start from a trained model: a finished run's folder, or a safetensors file with the "
        "tensors of the model; its sha256 is kept in `environment.json`.",
        unset="by the seed",
    )
