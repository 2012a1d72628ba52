"""The data sets the library knows, and what can be done with them by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedmgda._errors import DataError, SpecError
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.data.sources._adult_source import ADULT
from fedmgda.data.sources._cache import cache_root, cached_folder
from fedmgda.data.sources._fetch import fetch_dataset, import_dataset
from fedmgda.data.sources._handwriting import FEMNIST, WRITERS
from fedmgda.data.sources._pictures import CIFAR10, FASHION_MNIST, MNIST
from fedmgda.data.sources._shakespeare import SHAKESPEARE
from fedmgda.data.sources._verify import remedy, verify_dataset

if TYPE_CHECKING:
    from fedmgda.data.sources._dataset import Dataset, Progress, Step
    from fedmgda.data.sources._verify import Report

__all__ = ["catalogue", "dataset_folder", "fetch", "find_dataset", "import_folder"]
__all__ += ["is_cached", "verify"]

_DATASETS = (ADULT, FASHION_MNIST, CIFAR10, SHAKESPEARE, MNIST, WRITERS, FEMNIST)


def catalogue() -> tuple[Dataset, ...]:
    """Return all data sets that can be fetched or imported.

    >>> [dataset.name for dataset in catalogue()]
    ['adult', 'fashion-mnist', 'cifar10', 'shakespeare', 'mnist', 'writers', 'femnist']
    """
    return _DATASETS


def find_dataset(name: str) -> Dataset:
    """Return a data set by name.

    Raises:
        SpecError: If there is none of that name.
    """
    names = [dataset.name for dataset in _DATASETS]
    if name not in names:
        listed = f"there are {', '.join(names)}."
        hint = did_you_mean(nearest_names(name, names), listed, shown=str)
        raise SpecError(f"There is no data set {name!r}; {hint}")
    return _DATASETS[names.index(name)]


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Bring a data set, and those it is used with, into the cache; return its folder.

    Raises:
        DataError: If no source delivers it, or the cache cannot be written.
    """
    dataset = find_dataset(name)
    for need in dataset.needs:
        fetch(need, progress)
    return fetch_dataset(dataset, progress or _silently)


def verify(name: str) -> Report:
    """Compare everything cached of a data set with its checksums.

    Raises:
        DataError: If the data set is not in the cache.
    """
    return verify_dataset(find_dataset(name))


def import_folder(name: str, path: str | Path) -> Path:
    """Take official files from a folder, or from one file, into the cache; return their folder.

    Raises:
        DataError: If files are missing or are not the official ones.
    """
    return import_dataset(find_dataset(name), Path(path))


def is_cached(name: str) -> bool:
    """Say whether a data set is in the cache, without reading it."""
    return cached_folder(find_dataset(name).name) is not None


def dataset_folder(name: str) -> Path:
    """Return the folder of a cached data set, without reading it.

    Raises:
        DataError: If it is not in the cache; the sentence has the command that brings it there.
    """
    dataset = find_dataset(name)
    if (folder := cached_folder(name)) is None:
        raise DataError(f"{name} is not in the cache {cache_root()}; {remedy(dataset)}")
    return folder


def _silently(_: Step) -> None:
    pass
