"""Checksums of files and bytes."""

from __future__ import annotations

import errno
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path

__all__ = ["md5_of_bytes", "md5_of_file", "sha256_of_file"]


def md5_of_bytes(content: bytes) -> str:
    """Return the md5 the publishers of the data sets give: it recognises, it does not protect."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def md5_of_file(path: Path) -> str:
    """Return the md5 of a file, read in pieces."""
    with _opened(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Return the sha256 of a file, read in pieces."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _opened(path: Path) -> BufferedReader:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return path.open("rb")
