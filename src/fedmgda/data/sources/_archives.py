"""Open archives without trusting them: named members only, inside the folder, only so large.

And keep official files as they are, where nothing else is needed.
"""

from __future__ import annotations

import gzip
import io
import lzma
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Protocol

from fedmgda.data.sources._origin import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["copy", "gunzip", "restore_plain", "store_plain", "unpack_deb", "unpack_tar"]

MAX_MEMBERS = 10_000
MAX_BYTES = 1 << 30
# tarfile trusts what a header says of lengths and signs, and stumbles over it in as many ways.
_BROKEN = (
    tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, ArithmeticError,
    LookupError, TypeError, ValueError,
)  # fmt: skip


def copy(path: Path, folder: Path) -> None:
    """Take a file as it is."""
    shutil.copyfile(path, folder / path.name)


def store_plain(raw: Path, folder: Path) -> None:
    """Keep every official file as it is."""
    for path in sorted(raw.iterdir()):
        shutil.move(path, folder / path.name)


def restore_plain(folder: Path, official: str) -> bytes:
    """Return the official file, which is the cached one."""
    return (folder / official).read_bytes()


def gunzip(path: Path, folder: Path) -> None:
    """Unzip one file; it loses its `.gz`.

    Raises:
        SourceError: If the file is damaged or far larger than any of the data sets.
    """
    try:
        with gzip.open(path) as source, (folder / path.stem).open("wb") as target:
            _pour(source, target, MAX_BYTES, path)
    except _BROKEN as error:
        raise SourceError(f"{path.name} is damaged ({error})") from error


def unpack_tar(
    path: Path, folder: Path, *, inside: str, names: Iterable[str], max_bytes: int | None = None
) -> None:
    """Write the members `names` of the folder `inside` of a tar file into `folder`.

    Raises:
        SourceError: If the archive is damaged, too large, or holds a path or link that would
            lead out of its folder.
    """
    with path.open("rb") as file:
        wanted = {f"{inside}/{name}".lstrip("/"): name for name in names}
        _unpack(file, path, folder, wanted, max_bytes or MAX_BYTES)


def unpack_deb(path: Path, folder: Path, *, inside: str, names: Iterable[str]) -> None:
    """Do the same for a Debian package, which is an `ar` archive around a tar file."""
    content = path.read_bytes()
    if not content.startswith(b"!<arch>\n"):
        raise SourceError(f"{path.name} is not a Debian package")
    at = 8
    while at + 60 <= len(content):
        name, size = content[at : at + 16].decode("ascii", "replace"), content[at + 48 : at + 58]
        length = int(size) if size.strip().isdigit() else len(content)
        if name.startswith("data.tar"):
            data = io.BytesIO(content[at + 60 : at + 60 + length])
            wanted = {f"{inside}/{name}": name for name in names}
            _unpack(data, path, folder, wanted, MAX_BYTES)
            return
        at += 60 + length + length % 2
    raise SourceError(f"{path.name} is damaged (no data in it)")


def _unpack(
    file: IO[bytes], path: Path, folder: Path, wanted: dict[str, str], max_bytes: int
) -> None:
    total, found = 0, set[str]()
    try:
        with tarfile.open(fileobj=file, mode="r|*") as archive:
            for number, member in enumerate(archive):
                _check_member(member, path)
                total += member.size
                if total > max_bytes or number >= MAX_MEMBERS:
                    raise SourceError(f"{path.name} unpacks to more than a data set should")
                name = wanted.get(str(PurePosixPath(member.name)))
                content = archive.extractfile(member) if name else None
                if name and content:
                    found.add(name)
                    with (folder / name).open("wb") as target:
                        _pour(content, target, member.size, path)
    except _BROKEN as error:
        raise SourceError(f"{path.name} is damaged ({error})") from error
    if missing := sorted(set(wanted.values()) - found):
        raise SourceError(f"{path.name} is damaged or another edition: no {missing[0]} in it")


def _check_member(member: tarfile.TarInfo, path: Path) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\\" in member.name:
        raise SourceError(f"{path.name} holds the path {member.name!r}, which leads out of it")
    if not (member.isreg() or member.isdir()):
        raise SourceError(f"{path.name} holds {member.name!r}, which is no plain file or folder")


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _pour(source: _Readable, target: IO[bytes], limit: int, path: Path) -> None:
    left = limit
    while piece := source.read(min(1 << 20, left + 1)):
        left -= len(piece)
        if left < 0:
            raise SourceError(f"{path.name} unpacks to more than {limit} bytes")
        target.write(piece)
