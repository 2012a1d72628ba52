"""The path of the socket between a node and its resident worker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_socket_path"]

_LONGEST = 100  # bytes; the system's own limit is 108 on Linux and 104 elsewhere


def check_socket_path(path: Path) -> None:
    """Refuse a path that no socket can have, before anything is started that needs it.

    Raises:
        SpecError: If it is too long.
    """
    if len(os.fsencode(path)) > _LONGEST:
        raise SpecError(
            f"{path} is too long for the path of a socket ({_LONGEST} bytes); name a shorter "
            "folder with TMPDIR."
        )
