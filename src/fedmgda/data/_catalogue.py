"""The data sets the library knows, and what can be done with them by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.data.datasets._adult import ADULT
from fedmgda.data.datasets._cifar10 import CIFAR10
from fedmgda.data.datasets._digits import DIGITS
from fedmgda.data.datasets._femnist import FEMNIST
from fedmgda.data.datasets._mnist import FASHION_MNIST, MNIST
from fedmgda.data.datasets._shakespeare import SHAKESPEARE
from fedmgda.data.datasets._synthetic import QUADRATICS, SYNTHETIC
from fedmgda.data.datasets._writers import WRITERS
from fedmgda.data.own._function import FUNCTION
from fedmgda.data.own._own_dataset import TABLE
from fedmgda.data.sources._cache import cached_folder
from fedmgda.data.sources._verify import folder_of, verify_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedmgda.data._dataset import Dataset
    from fedmgda.data.sources._origin import Origin, Progress, Step
    from fedmgda.data.sources._verify import Verification

__all__ = ["DATASETS", "dataset_folder", "fetch", "find_dataset", "find_origin", "import_folder"]
__all__ += ["is_cached", "verify"]

DATASETS: Mapping[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        DIGITS,
        ADULT,
        FASHION_MNIST,
        CIFAR10,
        SHAKESPEARE,
        MNIST,
        WRITERS,
        FEMNIST,
        SYNTHETIC,
        QUADRATICS,
        TABLE,
    )
}
"""All data sets, by name: what `data.name` of a spec may be, besides a function of the user's."""


def find_dataset(name: str) -> Dataset:
    """Return a data set by name, or that of a function of the user's own.

    Raises:
        SpecError: If there is none of that name.

    >>> find_dataset("cifar10").model
    'cifar-cnn'
    """
    if is_entry(name):
        return replace(FUNCTION, name=name)
    if name not in DATASETS:
        raise _no_such(name, list(DATASETS))
    return DATASETS[name]


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Bring a data set, and those it is used with, into the cache; return its folder.

    Raises:
        SpecError: If there is no such data set, or nothing to fetch for it.
        DataError: If no source delivers it, or the cache cannot be written.
    """
    from fedmgda.data.sources._fetch import fetch_origin  # noqa: PLC0415 (it imports the network)

    origin = find_origin(name)
    for need in origin.needs:
        fetch(need, progress)
    return fetch_origin(origin, progress or _silently)


def verify(name: str) -> Verification:
    """Compare everything cached of a data set with its checksums.

    Raises:
        DataError: If the data set is not in the cache.
    """
    return verify_origin(find_origin(name))


def import_folder(name: str, path: str | Path) -> Path:
    """Take official files from a folder, or from one file, into the cache; return their folder.

    Raises:
        DataError: If files are missing or are not the official ones.
    """
    from fedmgda.data.sources._fetch import import_origin  # noqa: PLC0415 (it imports the network)

    return import_origin(find_origin(name), Path(path))


def is_cached(name: str) -> bool:
    """Say whether a data set is in the cache, without reading it."""
    return cached_folder(find_origin(name).name) is not None


def dataset_folder(name: str) -> Path:
    """Return the folder of a cached data set, without reading it.

    Raises:
        DataError: If it is not in the cache; the sentence has the command that brings it there.
    """
    return folder_of(find_origin(name))


def find_origin(name: str) -> Origin:
    """Return where the files of a data set come from.

    Raises:
        SpecError: If there is no data set of that name, or it has no files in the cache.
    """
    origins = {key: dataset.origin for key, dataset in DATASETS.items() if dataset.origin}
    if name in DATASETS and name not in origins:
        raise SpecError(
            f"{name!r} is not kept in the cache: there is nothing to fetch, import or verify."
        )
    if name not in origins:
        raise _no_such(name, list(origins))
    return origins[name]


def _no_such(name: str, names: list[str]) -> SpecError:
    hint = did_you_mean(nearest_names(name, names), f"there are {', '.join(names)}.", shown=str)
    return SpecError(f"There is no data set {name!r}; {hint}")


def _silently(_: Step) -> None:
    pass
