"""Prove that what is in the cache is the official data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from fedmgda._errors import DataError
from fedmgda.data.sources._cache import cache_root, cached_folder, read_manifest
from fedmgda.data.sources._checksums import md5_of_bytes, sha256_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fedmgda.data.sources._dataset import Dataset

__all__ = ["Check", "Report", "verify_dataset"]

Kind: TypeAlias = Literal["official md5", "cached sha256"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One file and its checksum: as it should be, and as it is."""

    file: str
    kind: Kind
    expected: str
    found: str

    @property
    def ok(self) -> bool:
        """Whether they agree."""
        return self.expected == self.found


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a verification found.

    Attributes:
        name: The data set.
        folder: Where it is.
        source: Where it came from.
        checks: First the official files, made again from what is cached, against the published
            md5; then every cached file against the checksum of the day it was stored.
    """

    name: str
    folder: Path
    source: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every check agrees."""
        return all(check.ok for check in self.checks)


def verify_dataset(dataset: Dataset) -> Report:
    """Read everything again and compare.

    Raises:
        DataError: If the data set is not in the cache.
    """
    folder, manifest = cached_folder(dataset.name), read_manifest(dataset.name)
    if folder is None or manifest is None:
        raise DataError(f"{dataset.name} is not in the cache {cache_root()}; {remedy(dataset)}")
    checks = (*_official(dataset, folder), *_cached(folder, manifest.get("files", {})))
    source = str(manifest.get("source", "unknown"))
    return Report(name=dataset.name, folder=folder, source=source, checks=checks)


def remedy(dataset: Dataset) -> str:
    """Say how a data set gets into the cache."""
    if dataset.sources:
        return f"get it with: fedmgda data fetch {dataset.name}"
    return f"get it from {dataset.home} and run: fedmgda data import {dataset.name} PATH"


def _official(dataset: Dataset, folder: Path) -> Iterator[Check]:
    for name, expected in dataset.files.items():
        try:
            found = md5_of_bytes(dataset.restore(folder, name))
        except (OSError, ValueError) as error:
            found = f"cannot be read ({error})"
        yield Check(file=name, kind="official md5", expected=expected, found=found)


def _cached(folder: Path, files: dict[str, dict[str, str]]) -> Iterator[Check]:
    for name, entry in files.items():
        try:
            found = sha256_of_file(folder / name)
        except OSError as error:
            found = f"cannot be read ({error.strerror})"
        yield Check(file=name, kind="cached sha256", expected=entry["sha256"], found=found)
