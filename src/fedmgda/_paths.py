"""What is at a path that a user gave: the one place that asks, and refuses what is no file.

`Path.exists` and its kin raise where a name is too long or a folder may not be entered, and call a
pipe a file, which would then be waited for.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Literal

from fedmgda._errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_folder", "kind_of", "paths_in"]


def kind_of(path: Path) -> Literal["file", "folder"] | None:
    """Return what is at a path, links followed; None if nothing is.

    Raises:
        DataError: If that cannot be told, or it is neither, as a pipe or a device.

    >>> from pathlib import Path
    >>> kind_of(Path("/")), kind_of(Path("/no/such/place"))
    ('folder', None)
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (as all of this file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in a path
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    raise DataError(f"{path} is neither a file nor a folder; name one.")


def is_folder(path: Path) -> bool:
    """Tell whether a path leads to a folder.

    Raises:
        DataError: As `kind_of` does.
    """
    return kind_of(path) == "folder"


def paths_in(folder: Path) -> list[Path]:
    """Return what lies in a folder, sorted by name.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError) as error:
        raise _unreadable(folder, error) from error


def _unreadable(path: Path, error: OSError | ValueError) -> DataError:
    return DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.")
