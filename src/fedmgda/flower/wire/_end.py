"""How a run ended, in a file beside its folder: the ServerApp writes it, whoever waits reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._errors import StoreError
from fedmgda._files import read_file, write_file
from fedmgda._json import read_json

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["End", "end_file", "read_end", "write_end"]

_LIMIT = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: the exit code of the command line, and one sentence."""

    code: int
    sentence: str


def end_file(out: Path) -> Path:
    """Return where it is written how the run in a folder ended: beside the folder."""
    return out.with_name(f"{out.name}.flower.json")


def write_end(out: Path, end: End) -> None:
    """Write down how the run in a folder ended."""
    content = json.dumps({"exit_code": end.code, "message": end.sentence}) + "\n"
    write_file(end_file(out), content.encode())


def read_end(out: Path) -> End | None:
    """Read how the run in a folder ended; None where that is not said."""
    path = end_file(out)
    content = read_file(path, _LIMIT)
    if content is None:
        return None
    try:
        said = read_json(content)
        return End(int(said["exit_code"]), str(said["message"]))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} does not say how the run ended: {error!r}.") from error
