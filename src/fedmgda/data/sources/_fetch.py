"""Bring a data set into the cache, from its sources or from the user's disk."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from fedmgda._errors import DataError
from fedmgda._paths import is_folder, kind_of
from fedmgda.data.sources._cache import (
    MANIFEST,
    cache_root,
    cached_folder,
    downloads,
    install,
    locked,
    staging,
)
from fedmgda.data.sources._checksums import md5_of_file, sha256_of_file
from fedmgda.data.sources._download import download
from fedmgda.data.sources._origin import SourceError, Step
from fedmgda.data.sources._registries import locate
from fedmgda.data.sources._verify import remedy, verify_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from fedmgda.data.sources._origin import Download, Origin, Progress, Source

__all__ = ["fetch_origin", "import_origin"]


def fetch_origin(origin: Origin, progress: Progress) -> Path:
    """Return the folder of a data set, fetched from the first source that delivers it.

    What is in the cache is verified, and fetched again if it is damaged.

    Raises:
        DataError: If no source delivers the official content, or the cache cannot be written.
    """
    if not origin.sources:
        raise DataError(f"{origin.name} cannot be fetched; {remedy(origin)}")
    with locked(origin.name), _writing(origin):
        if (folder := _intact(origin)) is not None:
            shutil.rmtree(downloads(origin.name), ignore_errors=True)  # of one killed at its end
            progress(Step(text=f"{origin.name} is in {folder}, verified"))
            return folder
        refusals = []
        for source in origin.sources:
            progress(Step(text=f"{origin.name}: {source.name}"))
            try:
                return _fetch_from(source, origin, progress)
            except SourceError as error:
                refusals.append(f"{source.name}: {error}")
                _clear_if_empty(downloads(origin.name))
                progress(Step(text=f"{origin.name}: {source.name} left: {error}"))
    raise DataError(
        f"{origin.name} could not be fetched ({'; '.join(refusals)}); get the official files "
        f"from {origin.home} and run: fedmgda data import {origin.name} PATH"
    )


def import_origin(origin: Origin, path: Path) -> Path:
    """Take official files the user already has, in a folder or as one file.

    Raises:
        DataError: If files are missing or are not the official ones.
    """
    if kind_of(path) is None:
        raise DataError(f"{path} does not exist; name the folder or file that holds {origin.name}.")
    found = sorted(path.rglob("*")) if is_folder(path) else [path]
    candidates = [file for file in found if file.name != MANIFEST]  # of another machine's cache
    with locked(origin.name), _writing(origin):
        try:
            return _take(candidates, origin, source=f"import of {path}")
        except SourceError as error:
            raise DataError(
                f"{path} was not imported as {origin.name}: {error}; name the folder of the "
                f"official files, from {origin.home}."
            ) from error


def _intact(origin: Origin) -> Path | None:
    folder = cached_folder(origin.name)
    return folder if folder is not None and verify_origin(origin).ok else None


def _fetch_from(source: Source, origin: Origin, progress: Progress) -> Path:
    waiting = downloads(origin.name)
    waiting.mkdir(parents=True, exist_ok=True)
    files = [_fetch_file(item, waiting, origin, progress) for item in source.downloads]
    progress(Step(text=f"{origin.name}: checking and decoding"))
    try:
        folder = _take(files, origin, source=source.name)
    except SourceError:
        shutil.rmtree(waiting, ignore_errors=True)  # wrong content: the next fetch begins anew
        raise
    shutil.rmtree(waiting, ignore_errors=True)
    return folder


def _fetch_file(item: Download, waiting: Path, origin: Origin, progress: Progress) -> Path:
    target = waiting / item.file
    if not target.exists():  # an earlier attempt may have stopped between two files
        download(locate(item), target, max_bytes=2 * origin.size + (1 << 20), progress=progress)
    if item.sha256 and (found := sha256_of_file(target)) != item.sha256:
        target.unlink()
        raise SourceError(f"{item.file} has sha256 {found}, expected {item.sha256}")
    return target


def _convert(file: Path, raw: Path, origin: Origin) -> None:
    for pattern, convert in origin.forms.items():
        if file.is_file() and fnmatch(file.name, pattern):
            if not os.access(file, os.R_OK):
                raise SourceError(f"{file} may not be read")
            convert(file, raw)
            return


def _check_official(raw: Path, origin: Origin) -> None:
    """Compare with the pinned checksums before anything is parsed."""
    if not origin.files and not any(raw.iterdir()):
        raise SourceError(f"none of {', '.join(origin.forms)} is there")
    if missing := [name for name in origin.files if not (raw / name).is_file()]:
        raise SourceError(
            f"{', '.join(missing[:3])} {'is' if len(missing) == 1 else 'are'} not there"
        )
    for name, expected in origin.files.items():
        if (found := md5_of_file(raw / name)) != expected:
            raise SourceError(f"{name} has md5 {found}, but the official file has {expected}")


def _take(files: Iterable[Path], origin: Origin, *, source: str) -> Path:
    """Decode, check and store files; the data set appears in the cache whole or not at all."""
    with staging(origin.name) as stage:
        raw, built = stage / "raw", stage / "built"
        raw.mkdir()
        built.mkdir()
        for file in files:
            _convert(file, raw, origin)
        _check_official(raw, origin)
        origin.store(raw, built)
        return install(origin, built, source=source)


def _clear_if_empty(folder: Path) -> None:
    with suppress(OSError):  # what arrived of a broken transfer stays, for the next attempt
        folder.rmdir()


@contextmanager
def _writing(origin: Origin) -> Iterator[None]:
    """Turn a cache that cannot be written into a sentence; give the space of downloads back."""
    try:
        yield
    except OSError as error:
        shutil.rmtree(downloads(origin.name), ignore_errors=True)
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        what = "is full" if full else f"cannot be written ({error.strerror or error})"
        room = f"{max(1, 4 * origin.size >> 20)} MB" if origin.size else "some space"
        raise DataError(
            f"The cache {cache_root()} {what} and {origin.name} was not stored; free "
            f"{room} or name another folder in the environment "
            "variable FEDMGDA_DATA."
        ) from error
