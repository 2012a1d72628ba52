"""Data sets that are kept as the official files themselves."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["restore_plain", "store_plain"]


def store_plain(raw: Path, folder: Path) -> None:
    """Keep every official file as it is."""
    for path in sorted(raw.iterdir()):
        shutil.move(path, folder / path.name)


def restore_plain(folder: Path, official: str) -> bytes:
    """Return the official file, which is the cached one."""
    return (folder / official).read_bytes()
