"""Where the official files of a data set come from, and how they are known to be the right ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["Client", "Download", "Origin", "Progress", "Source", "SourceError", "Step"]

Client: TypeAlias = Literal["https", "pip", "npm", "apt"]


class SourceError(Exception):
    """Why a source did not deliver, as a clause; the next source is tried."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """News of a fetch.

    Attributes:
        text: What is being done, or a note.
        done: How many bytes have arrived.
        total: How many are expected; None if the source does not say.
    """

    text: str
    done: int = 0
    total: int | None = None


Progress: TypeAlias = "Callable[[Step], None]"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One file of a source.

    Attributes:
        client: Who knows where it is: an address of its own, or a package client of the machine.
        address: An https address, or what the client calls the package, as in `name==1.0`.
        file: The name it is kept under; it decides how it is read (`Origin.forms`).
        sha256: The checksum of the file as delivered, where it is fixed.
    """

    client: Client
    address: str
    file: str
    sha256: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place that carries the whole data set."""

    name: str
    downloads: tuple[Download, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The official files of a data set: where they are found, recognised and kept.

    Attributes:
        name: The data set, and its folder in the cache.
        size: Bytes to download, roughly; 0 if it cannot be fetched.
        files: The official files, decoded, each with its md5; empty if there is no fixed edition.
        sources: Where to fetch it, in the order in which they are tried.
        forms: For a file name as sources and users have it (a pattern of `fnmatch`), the function
            that writes the official files it holds into a folder.
        store: Turns a folder of official files into the cached form in a second folder.
        restore: Returns an official file as bytes, made again from the cached form.
        home: The official home, for a reader.
        needs: Data sets this one is used with.
    """

    name: str
    size: int
    files: Mapping[str, str]
    sources: tuple[Source, ...]
    forms: Mapping[str, Callable[[Path, Path], None]]
    store: Callable[[Path, Path], None]
    restore: Callable[[Path, str], bytes]
    home: str
    needs: tuple[str, ...] = field(default=())
