"""The folder where fetched data is kept, and how something whole gets into it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping  # noqa: TC003 (read at run time)
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, final

from fedmgda._errors import DataError, LockedError, StoreError
from fedmgda._files import read_file, take_lock
from fedmgda._json import decode, read_json
from fedmgda.data.sources._checksums import sha256_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.data.sources._origin import Origin

__all__ = ["FORMAT", "MANIFEST", "cache_root", "cached_folder", "downloads", "install", "locked"]
__all__ += ["read_manifest", "staging"]

MANIFEST = "manifest.json"
FORMAT = 1  # of the cached files; another number is as good as not cached
_LARGEST_MANIFEST = 1 << 22


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFile:
    """A file of the cache on the day it was stored."""

    bytes: int
    sha256: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is read again of a manifest: where the data came from, and every file by its name."""

    format: int
    source: str
    files: Mapping[str, CachedFile]


def cache_root() -> Path:
    """Return the cache: FEDMGDA_DATA, or `fedmgda` in the user's cache folder.

    Raises:
        DataError: If that is in the home of nobody.
    """
    chosen = os.environ.get("FEDMGDA_DATA")
    try:
        if chosen:
            return Path(chosen).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fedmgda"
    except RuntimeError as error:  # no HOME, and nobody is known by this name or number
        where = f" {chosen}" if chosen else ""
        raise DataError(
            f"The home of the cache{where} cannot be found; name a folder in the environment "
            "variable FEDMGDA_DATA."
        ) from error


def cached_folder(name: str) -> Path | None:
    """Return the folder of a data set if it is in the cache; its content is not read."""
    return cache_root() / name if read_manifest(name) is not None else None


def read_manifest(name: str) -> Manifest | None:
    """Return what is recorded about a cached data set; None if it is not there, or damaged."""
    try:
        content = read_file(cache_root() / name / MANIFEST, _LARGEST_MANIFEST) or b""
        manifest = decode(Manifest, read_json(content))
    except (StoreError, ValueError):
        return None
    inside = all(file == Path(file).name and "\0" not in file for file in manifest.files)
    return manifest if inside and manifest.format == FORMAT else None


def downloads(name: str) -> Path:
    """Return the folder where files on their way in wait; a broken transfer goes on from there."""
    return cache_root() / ".downloads" / name


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time write a data set; the system lifts the lock if it dies."""
    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = take_lock(root / f".{name}.lock")
    except LockedError as error:
        raise LockedError(
            f"Another process is writing {name} into {root}; wait until it is done."
        ) from error
    except (OSError, StoreError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise DataError(
            f"The cache {root} cannot be written ({reason}); "
            "name another folder in the environment variable FEDMGDA_DATA."
        ) from error
    with lock:
        yield


@contextmanager
def staging(name: str) -> Iterator[Path]:
    """Give a folder beside the data sets to build one in; it is gone afterwards, come what may.

    Call it under the lock: what a killed process left behind is cleared away first.
    """
    for left in cache_root().glob(f".{name}.new-*"):
        shutil.rmtree(left, ignore_errors=True)
    path = Path(tempfile.mkdtemp(prefix=f".{name}.new-", dir=cache_root()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def install(origin: Origin, built: Path, *, source: str) -> Path:
    """Record what is in the built folder, and put it where the data set belongs in one step."""
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256_of_file(path)}
        for path in sorted(built.iterdir())
    }
    manifest = {
        "format": FORMAT,
        "fedmgda": metadata.version("fedmgda"),
        "dataset": origin.name,
        "source": source,
        "official": dict(origin.files),
        "files": files,
    }
    (built / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    for path in built.iterdir():
        path.chmod(0o644)
        _flush(path)
    target = cache_root() / origin.name
    if target.exists():
        target.rename(built.parent / "old")  # in the staging folder, which goes away
    built.rename(target)
    _flush(target.parent)
    return target


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
