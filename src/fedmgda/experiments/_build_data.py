"""From a spec to the data of all clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError
from fedmgda._random import Stream, generator
from fedmgda.data import PARTITIONS, FederatedData, Table, federate, find_dataset
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
        return loaded, ()
    client_rows = _deal(spec, loaded)
    names = loaded.group_names if spec.data.partition == "natural" else None
    how: Any = spec.data.local_split or "shuffled"
    data = federate(loaded, client_rows, seed=spec.seed, how=how, client_names=names)
    return data, _notes(spec.data, loaded)


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


def _notes(spec: DataSpec, loaded: Examples | Table) -> tuple[str, ...]:
    """Return what a user should know about a table of their own."""
    notes = loaded.notes if isinstance(loaded, Table) else ()
    made_up = find_dataset(spec.name or "").clients == "either" and spec.partition != "natural"
    if not made_up or spec.client is not None:
        return notes
    sentence = (
        f"No data.client is given, so {spec.num_clients} clients are made up by the partition "
        f"{spec.partition!r}; name the column that says whose each row is, if there is one."
    )
    return (*notes, sentence)
