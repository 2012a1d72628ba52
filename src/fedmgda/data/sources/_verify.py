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

    from fedmgda.data.sources._cache import Manifest
    from fedmgda.data.sources._origin import Origin

__all__ = ["FileCheck", "Verification", "folder_of", "intact_folder", "remedy", "verify_origin"]

Kind: TypeAlias = Literal["official md5", "cached sha256"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
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
class Verification:
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
    checks: tuple[FileCheck, ...]

    @property
    def ok(self) -> bool:
        """Whether every check agrees."""
        return all(check.ok for check in self.checks)


def verify_origin(origin: Origin) -> Verification:
    """Read everything again and compare.

    Raises:
        DataError: If the data set is not in the cache.
    """
    if (manifest := read_manifest(origin.name)) is None:
        raise _not_cached(origin)
    folder = cache_root() / origin.name
    checks = (*_official(origin, folder), *_cached(folder, manifest))
    return Verification(name=origin.name, folder=folder, source=manifest.source, checks=checks)


def folder_of(origin: Origin) -> Path:
    """Return the folder of a cached data set, without reading it.

    Raises:
        DataError: If it is not in the cache; the sentence has the command that brings it there.
    """
    if (folder := cached_folder(origin.name)) is None:
        raise _not_cached(origin)
    return folder


def intact_folder(origin: Origin) -> Path:
    """Return the folder of a small data set, read and compared with its checksums every time.

    Raises:
        DataError: If it is not in the cache, or a file of it is not what it should be.
    """
    found = verify_origin(origin)
    wrong = [check.file for check in found.checks if not check.ok]
    if wrong:
        raise DataError(
            f"{wrong[0]} in {found.folder} is not what it should be; bring it into the cache "
            f"again with: fedmgda data fetch {origin.name}"
        )
    return found.folder


def remedy(origin: Origin) -> str:
    """Say how a data set gets into the cache."""
    if origin.sources:
        return f"get it with: fedmgda data fetch {origin.name}"
    return f"get it from {origin.home} and run: fedmgda data import {origin.name} PATH"


def _not_cached(origin: Origin) -> DataError:
    return DataError(f"{origin.name} is not in the cache {cache_root()}; {remedy(origin)}")


def _official(origin: Origin, folder: Path) -> Iterator[FileCheck]:
    for name, expected in origin.files.items():
        try:
            found = md5_of_bytes(origin.restore(folder, name))
        except Exception as error:  # noqa: BLE001 - whatever damaged bytes bring about
            found = f"cannot be read ({error})"
        yield FileCheck(file=name, kind="official md5", expected=expected, found=found)


def _cached(folder: Path, manifest: Manifest) -> Iterator[FileCheck]:
    for name, entry in manifest.files.items():
        try:
            found = sha256_of_file(folder / name)
        except OSError as error:
            found = f"cannot be read ({error.strerror})"
        yield FileCheck(file=name, kind="cached sha256", expected=entry.sha256, found=found)
