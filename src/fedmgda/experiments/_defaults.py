"""What a spec means by default: the federation each data set becomes, and what `compat` changes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError
from fedmgda.data import PARTITIONS, find_dataset
from fedmgda.models import MODELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.data import Dataset, Settings
    from fedmgda.experiments._spec import DataSpec, ModelSpec, Spec

__all__ = ["data_settings", "default_clients", "resolve_data", "resolve_model"]


def data_settings(data: DataSpec) -> Settings:
    """Return the keys of the data that are set, as the records of data sets want them."""
    return {f.name: value for f in fields(data) if (value := getattr(data, f.name)) is not None}


def resolve_data(spec: Spec) -> DataSpec:
    """Fill in what the data set and `compat` decide; refuse keys that would be ignored."""
    data, given = spec.data, data_settings(spec.data)
    own_files = data.path is not None or data.schema is not None
    name = data.name or ("table" if own_files else "digits")
    dataset = find_dataset(name)
    own = {**dataset.settings, **(dataset.released if spec.compat == "released-code" else {})}
    partition: Any = data.partition or own.get("partition")
    if partition is None and dataset.default_partition is not None:
        partition = dataset.default_partition(given)
    settings = own if dataset.clients == "given" else _dealt(own, partition)
    if dataset.defaults is not None:
        settings = {**settings, **dataset.defaults({**given, "partition": partition})}
    for key in given:
        if key not in {"name", "partition", *settings, *dataset.options}:
            within = "" if dataset.clients == "given" else f" with the partition {partition!r}"
            raise SpecError(f"data.{key} does not apply to {name!r}{within}; leave it out.")
    resolved = replace(data, **{**settings, **given, "name": name, "partition": partition})
    _check(resolved, dataset)
    return resolved


def _dealt(own: dict[str, Any], partition: str) -> dict[str, Any]:
    """Return the settings of pooled data under a partition, its own or another one."""
    general = {"local_split": "shuffled", **PARTITIONS[partition].settings}
    if partition == own.get("partition"):
        return general | own
    return general | {key: value for key, value in own.items() if key in general}


def resolve_model(model: ModelSpec, data: DataSpec) -> ModelSpec:
    """Fill in the model that belongs to the data; refuse keys that would be ignored."""
    name = model.name or find_dataset(data.name or "").model
    if model.name is None and data.name == "table" and data.task == "regression":
        name = "linear"
    record = MODELS.get(name)
    applicable = {"options"} if record is None else set(record.options)
    for key in ("hidden", "dropout", "options"):
        if getattr(model, key) is not None and key not in applicable:
            users = [repr(other) for other, found in MODELS.items() if key in found.options]
            instead = f" or use {' or '.join(users)}" if users else ""
            raise SpecError(f"model.{key} does not apply to {name!r}; leave it out{instead}.")
    hidden = model.hidden
    if hidden is None and record is not None:
        hidden = record.options.get("hidden")
    return replace(
        model, name=name, hidden=hidden, dropout=None if model.dropout else model.dropout
    )


def default_clients(data: DataSpec) -> Mapping[str, Any]:
    """Return who takes part in a round unless the spec says so.

    Nobody yet where the number of clients decides it and takes the data to know.
    """
    dataset, per_round = find_dataset(data.name or ""), None
    if dataset.most_per_round is not None and data.num_clients is not None:
        per_round = min(dataset.most_per_round, data.num_clients)
    return {"participation": dataset.participation, "per_round": dataset.per_round or per_round}


def _check(data: DataSpec, dataset: Dataset) -> None:
    if dataset.check is not None:
        dataset.check(data_settings(data))
    if dataset.clients == "dealt" and data.partition == "natural":
        raise SpecError(f"{data.name!r} has no clients of its own; choose another data.partition.")
    if dataset.clients == "given" and data.partition not in {None, "natural"}:
        raise SpecError(f"The clients of {data.name!r} are given; leave data.partition out.")
    splits = dataset.local_splits
    if data.local_split is not None and data.local_split not in splits:
        raise SpecError(
            f"data.local_split = {data.local_split!r} does not apply to {data.name!r}; "
            f"use {' or '.join(repr(split) for split in sorted(splits))}."
        )
