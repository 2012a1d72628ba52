"""What a spec means by default: the federation each data set becomes, and what `compat` changes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.experiments._spec import DataSpec, ModelSpec, Spec

__all__ = ["default_clients", "resolve_data", "resolve_model"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Defaults:
    """The federation a data set becomes when a spec says no more than its name.

    Attributes:
        model: The name of its model.
        settings: Keys of the data that depend on it.
        options: Further keys that apply.
        pooled: Whether a partition deals its examples.
        clients: Who takes part in a round.
    """

    model: str
    settings: Mapping[str, Any]
    options: tuple[str, ...] = ()
    pooled: bool = False
    clients: Mapping[str, Any]


_SHARDS_OF_100 = {"partition": "shards", "num_clients": 100, "shards_per_client": 5}

_DEFAULTS: Mapping[str, _Defaults] = {
    "digits": _Defaults(
        model="mlp",
        settings={"partition": "shards", "num_clients": 20, "shards_per_client": 2},
        pooled=True,
        clients={"participation": 0.5},
    ),
    "fashion-mnist": _Defaults(
        model="fmnist-cnn", settings=_SHARDS_OF_100, pooled=True, clients={"participation": 0.1}
    ),
    "mnist": _Defaults(
        model="fmnist-cnn", settings=_SHARDS_OF_100, pooled=True, clients={"participation": 0.1}
    ),
    "cifar10": _Defaults(
        model="cifar-cnn", settings=_SHARDS_OF_100, pooled=True, clients={"participation": 0.1}
    ),
    "adult": _Defaults(
        model="logistic",
        settings={"partition": "natural", "index_shift": 0, "local_split": "tail"},
        clients={"participation": 1.0},
    ),
    "shakespeare": _Defaults(
        model="char-lstm",
        settings={"partition": "natural", "num_clients": 31, "local_split": "temporal"},
        clients={"participation": 1.0},
    ),
    "femnist": _Defaults(
        model="femnist-cnn",
        settings={"partition": "natural"},
        options=("path",),
        clients={"per_round": 10},
    ),
    "writers": _Defaults(
        model="femnist-cnn", settings={"partition": "natural"}, clients={"per_round": 10}
    ),
    "synthetic": _Defaults(
        model="logistic",
        settings={"partition": "natural", "num_clients": 30, "alpha": 1.0, "beta": 1.0},
        clients={"per_round": 10},
    ),
    "quadratics": _Defaults(
        model="linear",
        settings={"partition": "natural", "num_clients": 10},
        clients={"participation": 1.0},
    ),
    "table": _Defaults(
        model="logistic",
        settings={},
        options=("path", "client", "target", "features", "task"),
        pooled=True,
        clients={"participation": 1.0},
    ),
    "entry": _Defaults(model="logistic", settings={}, clients={"participation": 1.0}),
}

_PARTITION_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "iid": {"num_clients": 10},
    "shards": {"num_clients": 10, "shards_per_client": 2},
    "dirichlet": {"num_clients": 10, "alpha": 0.5, "min_size": 10},
    "label-quantity": {"num_clients": 10, "classes_per_client": 2},
    "quantity-skew": {"num_clients": 10, "alpha": 1.0, "min_size": 10},
    "natural": {},
}


def resolve_data(spec: Spec) -> DataSpec:
    """Fill in what the data set and `compat` decide; refuse keys that would be ignored."""
    data = spec.data
    name = data.name or ("table" if data.path is not None else "digits")
    defaults = _of(name)
    own = dict(defaults.settings) | (_released(name) if spec.compat == "released-code" else {})
    partition = data.partition or own.get("partition") or _table_partition(data, name)
    settings = _dealt(own, partition) if defaults.pooled else own
    given = {f.name: value for f in fields(data) if (value := getattr(data, f.name)) is not None}
    for key in given:
        if key not in {"name", "partition", *settings, *defaults.options}:
            within = f" with the partition {partition!r}" if defaults.pooled else ""
            raise SpecError(f"data.{key} does not apply to {name!r}{within}; leave it out.")
    resolved = replace(data, **settings | given | {"name": name, "partition": partition})
    _check(resolved, defaults)
    return resolved


def _dealt(own: dict[str, Any], partition: str) -> dict[str, Any]:
    """Return the settings of pooled data under a partition, its own or another one."""
    general = {"local_split": "shuffled", **_PARTITION_OPTIONS[partition]}
    if partition == own.get("partition"):
        return general | own
    return general | {key: value for key, value in own.items() if key in general}


def resolve_model(model: ModelSpec, data: DataSpec) -> ModelSpec:
    """Fill in the model that belongs to the data."""
    name: Any = model.name or _of(data.name or "").model
    if model.hidden is not None and name != "mlp":
        raise SpecError(f"model.hidden does not apply to {name!r}; leave it out or use 'mlp'.")
    if model.dropout is not None and name != "fmnist-cnn":
        raise SpecError(f"model.dropout does not apply to {name!r}; leave it out.")
    if model.name is None and data.name == "table" and data.task == "regression":
        name = "linear"
    hidden = model.hidden if model.hidden is not None or name != "mlp" else (32,)
    return replace(
        model, name=name, hidden=hidden, dropout=None if model.dropout else model.dropout
    )


def default_clients(data: DataSpec) -> Mapping[str, Any]:
    """Return who takes part in a round unless the spec says so."""
    return _of(data.name or "").clients


def _of(name: str) -> _Defaults:
    return _DEFAULTS["entry" if is_entry(name) else name]


def _released(name: str) -> dict[str, Any]:
    """Return what the released code does differently with the data (SPEC 9.2, 9.3, 9.5 and 3.5)."""
    match name:
        case "fashion-mnist":
            return {"local_split": "tail", "shards_per_client": 3}
        case "adult":
            return {"index_shift": 1}
        case "shakespeare":
            return {"local_split": "random"}
        case "digits" | "mnist" | "cifar10" | "table":
            return {"local_split": "tail"}
        case _:
            return {}


def _table_partition(data: DataSpec, name: str) -> Any:
    if name != "table":
        return None
    return "iid" if _is_table_file(data) and data.client is None else "natural"


def _is_table_file(data: DataSpec) -> bool:
    """Tell a table, whose target and clients are columns, from an npz file or a folder."""
    return Path(data.path or "").suffix.lower() in {".csv", ".tsv", ".txt", ".parquet", ".pq"}


def _check(data: DataSpec, defaults: _Defaults) -> None:
    if data.name == "table" and data.path is None:
        raise SpecError("data.path is needed for a table; name the file.")
    if data.name == "table" and _is_table_file(data):
        if data.target is None:
            raise SpecError("data.target is needed for a table; name the column to predict.")
        if data.partition == "natural" and data.client is None:
            raise SpecError("data.partition = 'natural' needs data.client, the clients' column.")
    if defaults.pooled and data.name != "table" and data.partition == "natural":
        raise SpecError(f"{data.name!r} has no clients of its own; choose another data.partition.")
    if not defaults.pooled and data.partition not in {None, "natural"}:
        raise SpecError(f"The clients of {data.name!r} are given; leave data.partition out.")
    splits = {"temporal", "random"} if data.name == "shakespeare" else {"shuffled", "tail"}
    if data.local_split is not None and data.local_split not in splits:
        raise SpecError(
            f"data.local_split = {data.local_split!r} does not apply to {data.name!r}; "
            f"use {' or '.join(repr(split) for split in sorted(splits))}."
        )
