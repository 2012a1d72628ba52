"""The records of a run: one JSON object per line, only ever appended, cut back on a resume."""

from __future__ import annotations

import errno
import json
import math
import os
from itertools import takewhile
from typing import IO, TYPE_CHECKING, Any

from fedmgda._errors import StoreError
from fedmgda.federation import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Records", "plain"]


class Records:
    """`rounds.jsonl`, `evaluations.jsonl` and `timings.jsonl` of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}

    def read(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a record; a torn last line is left out.

        Raises:
            StoreError: If a line is not an object with the number of its round.
        """
        path = self._path(name)
        return [_parse(line, path, number) for number, line in enumerate(self._lines(name), 1)]

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Add one line to a record and hand it to the system."""
        line = json.dumps(plain(record), separators=(",", ":")).encode() + b"\n"
        if name not in self._files:
            # Without a buffer, so that what a full disk refused is not tried again at the end.
            self._files[name] = self._path(name).open("ab", buffering=0)
        if self._files[name].write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Wait until the records are on the disk: a checkpoint must never be ahead of them."""
        for file in self._files.values():
            os.fsync(file.fileno())

    def rewind(self, round_num: int, evaluated: Sequence[int]) -> None:
        """Cut the records back to what was known after a round.

        Args:
            round_num: The round; 0 is before the first.
            evaluated: The rounds up to it that must have been evaluated.

        Raises:
            StoreError: If something before the cut is missing or damaged.
        """
        for name, wanted in (("rounds", range(1, round_num + 1)), ("evaluations", evaluated)):
            # What a crash left behind the cut may be torn in any way; it goes with the rest.
            kept = list(takewhile(lambda line: _round_of(line) <= round_num, self._lines(name)))
            if [_round_of(line) for line in kept] != list(wanted):
                raise StoreError(
                    f"{self._path(name)} is not what a run leaves after round {round_num}; the "
                    "folder was damaged by something else. Delete it and run again."
                )
            self._write(name, kept)
        # No result depends on a timing, so a damaged one just goes.
        self._write("timings", [x for x in self._lines("timings") if _round_of(x) <= round_num])

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _lines(self, name: str) -> list[bytes]:
        try:
            return self._path(name).read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self._path(name)} cannot be read: {error.strerror}.") from error

    def _write(self, name: str, lines: list[bytes]) -> None:
        path, content = self._path(name), b"".join(line + b"\n" for line in lines)
        if path.exists() and path.stat().st_size != len(content):
            write_atomically(path, content)


def plain(value: Any) -> Any:
    """Turn NumPy values into plain ones, and what JSON cannot say (NaN, Inf) into null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _parse(line: bytes, path: Path, number: int) -> dict[str, Any]:
    if _round_of(line) == math.inf:
        raise StoreError(
            f"{path} is damaged in line {number}; restore it, or delete the folder and run again."
        )
    record: dict[str, Any] = json.loads(line)
    return record


def _round_of(line: bytes) -> float:
    """Return the round a line is about; infinity for a line that is no record."""
    try:
        record = json.loads(line)
    except ValueError:
        return math.inf
    known = isinstance(record, dict) and type(record.get("round")) is int
    return float(record["round"]) if known else math.inf
