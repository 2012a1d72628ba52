"""From a spec to the data of all clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._random import Stream, generator
from fedmgda.data import (
    PARTITIONS,
    FederatedData,
    Table,
    federate,
    find_dataset,
    leave_out_small_clients,
    rare_notes,
)
from fedmgda.experiments._defaults import data_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices
    from fedmgda.data import Examples
    from fedmgda.experiments._spec import DataSpec, Spec

__all__ = ["build_data"]


def build_data(spec: Spec) -> tuple[FederatedData, tuple[str, ...]]:
    """Load the data of a resolved spec and deal it to the clients.

    Returns:
        The federation, and sentences the user should see, such as which values were missing.
    """
    loaded = find_dataset(spec.data.name or "").load(data_settings(spec.data), spec.seed)
    if isinstance(loaded, FederatedData):
        return loaded, _alone_note(spec.data, loaded)
    client_rows = _deal(spec, loaded)
    names: Sequence[str] | None = None
    small: tuple[str, ...] = ()
    if spec.data.partition == "natural":
        names = loaded.group_names
    if spec.data.min_rows is not None:
        client_rows, names, small = leave_out_small_clients(client_rows, names, spec.data.min_rows)
        _check_classes(loaded, client_rows)
    _check_values(loaded, client_rows)
    how: Any = spec.data.local_split or "shuffled"
    data = federate(loaded, client_rows, seed=spec.seed, how=how, client_names=names)
    return data, (*small, *_notes(spec.data, loaded, data), *_alone_note(spec.data, data))


def _check_classes(source: Examples | Table, client_rows: Sequence[Indices]) -> None:
    """Refuse a target that is the same for everybody who is left."""
    if source.num_classes is not None:
        left = np.unique(source.targets[np.concatenate(client_rows)])
        if len(left) == 1:
            names = source.class_names or [str(label) for label in range(source.num_classes)]
            raise DataError(
                f"Every row of the clients of {source.name} that are left has the target "
                f"{names[int(left[0])]!r}; lower data.min_rows."
            )


def _check_values(source: Examples | Table, client_rows: Sequence[Indices]) -> None:
    """Refuse numbers to predict that are all the same; a table tells so when it is encoded."""
    if source.num_classes is None and not isinstance(source, Table):
        values = source.targets[np.concatenate(client_rows)]
        if (values == values[0]).all():
            raise DataError(
                f"Every target of {source.name} is {values[0]:g}; there is nothing to learn."
            )


def _deal(spec: Spec, source: Examples | Table) -> Sequence[Indices]:
    """Return for each client its examples."""
    partition = PARTITIONS[spec.data.partition or ""]
    if partition.by_class and source.num_classes is None:
        others = [repr(other.name) for other in PARTITIONS.values() if not other.by_class]
        raise SpecError(
            f"data.partition = {partition.name!r} deals classes, and the target of {source.name} "
            f"is a number; use {', '.join(others[:-1])} or {others[-1]}."
        )
    rng = generator(spec.seed, Stream.PARTITION)
    return partition.deal(source, data_settings(spec.data), rng)


def _notes(spec: DataSpec, loaded: Examples | Table, data: FederatedData) -> tuple[str, ...]:
    """Return what a user should know about a table of their own."""
    notes: tuple[str, ...] = ()
    if isinstance(loaded, Table):
        rare = () if data.encoder is None else rare_notes(loaded, data.encoder)
        notes = (*loaded.notes, *rare)
    made_up = find_dataset(spec.name or "").clients == "either" and spec.partition != "natural"
    if not made_up or spec.client is not None:
        return notes
    sentence = (
        f"No data.client is given, so {spec.num_clients} clients are made up by the partition "
        f"{spec.partition!r}; name the column that says whose each row is, if there is one."
    )
    return (*notes, sentence)


def _alone_note(spec: DataSpec, data: FederatedData) -> tuple[str, ...]:
    """Return a sentence where there is one client only."""
    if data.num_clients != 1:
        return ()
    name = f", {data.client_names[0]!r:.80}" if data.client_names else ""
    remedy = {
        "natural": "check data.client and data.min_rows, or the files of the folder",
        None: "check data.name",
    }.get(spec.partition, "raise data.num_clients")
    note = f"There is one client only{name}, which is no federation but one learner; {remedy}."
    return (note,)
