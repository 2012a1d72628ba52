"""From a spec to the data of all clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmgda._entry import is_entry, load_entry
from fedmgda._errors import DataError, SpecError
from fedmgda._random import Stream, generator
from fedmgda.data import (
    Examples,
    FederatedData,
    Table,
    check_federation,
    dirichlet_partition,
    federate,
    iid_partition,
    label_quantity_partition,
    load_digits,
    load_femnist,
    load_own,
    load_shakespeare,
    load_writers,
    natural_partition,
    quadratic_federation,
    quantity_skew_partition,
    shard_partition,
    sources,
    synthetic_federation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices
    from fedmgda.experiments._spec import DataSpec, Spec

__all__ = ["build_data"]


def build_data(spec: Spec) -> tuple[FederatedData, tuple[str, ...]]:
    """Load the data of a resolved spec and deal it to the clients.

    Returns:
        The federation, and sentences the user should see, such as which values were missing.
    """
    loaded = _load(spec)
    if isinstance(loaded, FederatedData):
        return loaded, ()
    hands, names = _deal(spec.data, loaded, generator(spec.seed, Stream.PARTITION))
    how: Any = spec.data.local_split or "shuffled"
    data = federate(loaded, hands, seed=spec.seed, how=how, client_names=names)
    return data, _notes(spec.data, loaded)


def _notes(spec: DataSpec, loaded: Examples | Table) -> tuple[str, ...]:
    """Return what a user should know about a table of their own."""
    notes = loaded.notes if isinstance(loaded, Table) else ()
    if spec.name != "table" or spec.client is not None or spec.partition == "natural":
        return notes
    made_up = (
        f"No data.client is given, so {spec.num_clients} clients are made up by the partition "
        f"{spec.partition!r}; name the column that says whose each row is, if there is one."
    )
    return (*notes, made_up)


def _intact(name: str) -> Path:
    """Return the folder of a small data set, read and compared with its checksums every time."""
    report = sources.verify(name)
    wrong = [check.file for check in report.checks if not check.ok]
    if wrong:
        raise DataError(
            f"{wrong[0]} in {report.folder} is not what it should be; bring it into the cache "
            f"again with: fedmgda data fetch {name}"
        )
    return sources.dataset_folder(name)


def _load(  # noqa: C901, PLR0911, PLR0912 (one case per name: the registry a reader can see)
    spec: Spec,
) -> Examples | Table | FederatedData:
    data, seed = spec.data, spec.seed
    split: Any = data.local_split
    match data.name:
        case "digits":
            return load_digits()
        case "mnist":
            return sources.load_mnist()
        case "fashion-mnist":
            return sources.load_fashion_mnist()
        case "cifar10":
            return sources.load_cifar10()
        case "adult":
            _intact("adult")
            shift = data.index_shift or 0
            return sources.load_adult(index_shift=shift, local_split=split, seed=seed)
        case "shakespeare":
            texts = _intact("shakespeare")
            roles = data.num_clients or 31
            return load_shakespeare(texts, num_roles=roles, seed=seed, split=split)
        case "femnist":
            folder = Path(data.path) if data.path else sources.dataset_folder("femnist")
            return load_femnist(folder, seed=seed)
        case "writers":
            images = sources.dataset_folder("mnist")
            return load_writers(images, sources.dataset_folder("writers"), seed=seed)
        case "synthetic":
            return synthetic_federation(
                data.alpha or 0.0, data.beta or 0.0, data.num_clients or 30, seed=seed
            )
        case "quadratics":
            return quadratic_federation(data.num_clients or 10, 8, seed=seed)
        case "table":
            return load_own(
                data.path or "",
                target=data.target,
                client=data.client,
                features=data.features,
                task=data.task,
            )
        case name:
            return _from_entry(str(name))


def _from_entry(name: str) -> FederatedData:
    if not is_entry(name):
        raise SpecError(f"data.name = {name!r} is no data set.")
    try:
        made = load_entry(name, "data.name")()
    except SpecError:
        raise
    except (Exception, SystemExit) as error:  # whatever a function of the user's own may do
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SpecError(f"data.name = {name!r} raised {reason}; correct the function.") from error
    if not isinstance(made, FederatedData):
        raise SpecError(
            f"data.name = {name!r} must return a fedmgda.FederatedData, "
            f"got an object of type {type(made).__name__}."
        )
    check_federation(made)
    return made


def _deal(
    spec: DataSpec, source: Examples | Table, rng: Any
) -> tuple[Sequence[Indices], Sequence[str] | None]:
    """Return for each client its examples, and the names of natural clients."""
    targets, clients = source.targets, spec.num_clients or 1
    match spec.partition:
        case "iid":
            return iid_partition(len(targets), clients, rng), None
        case "quantity-skew":
            alpha, least = spec.alpha or 0.0, spec.min_size or 3
            return quantity_skew_partition(len(targets), clients, alpha, rng, min_size=least), None
        case "natural":
            if source.groups is None:
                raise SpecError("data.partition = 'natural' needs data that names its clients.")
            return natural_partition(source.groups), source.group_names
    if source.num_classes is None:
        raise SpecError(
            f"data.partition = {spec.partition!r} deals classes, and the target of {source.name} "
            "is a number; use 'iid', 'quantity-skew' or 'natural'."
        )
    match spec.partition:
        case "shards":
            return shard_partition(targets, clients, spec.shards_per_client or 1, rng), None
        case "dirichlet":
            alpha, least = spec.alpha or 0.0, spec.min_size or 3
            return dirichlet_partition(targets, clients, alpha, rng, min_size=least), None
        case _:
            per_client = spec.classes_per_client or 1
            return label_quantity_partition(targets, clients, per_client, rng), None
