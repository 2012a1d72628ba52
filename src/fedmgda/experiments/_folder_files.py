"""The files of a run folder by name, each held against its digest when it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping  # noqa: TC003 (read at run time)
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, final

from fedmgda._errors import StoreError
from fedmgda._files import is_there, read_file
from fedmgda._json import decode, read_json
from fedmgda.experiments._records import EVALUATIONS, GRAM, ROUNDS, TIMINGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = [
    "CHECKPOINTS",
    "CLIENTS",
    "DONE",
    "ENCODER",
    "ENVIRONMENT",
    "LOCK",
    "MODEL",
    "NODES",
    "PARTITION",
    "PREDICTIONS",
    "RESULTS",
    "SPEC",
    "SUMMARY",
    "Done",
    "FileDigest",
    "compare_digest",
    "is_file_of_run",
    "parse_file",
    "read_digests",
    "read_named",
]

T = TypeVar("T")

SPEC, ENVIRONMENT, PARTITION = "spec.toml", "environment.json", "partition.npz"
MODEL, ENCODER, PREDICTIONS = "model.safetensors", "encoder.json", "predictions.npz"
CLIENTS, SUMMARY, DONE, LOCK = "clients.csv", "summary.json", "DONE", "lock"
CHECKPOINTS, NODES = "checkpoints", "nodes.jsonl"
RESULTS = (
    PARTITION, ROUNDS, GRAM, EVALUATIONS, MODEL, ENCODER, PREDICTIONS, CLIENTS, SUMMARY,
)  # fmt: skip
"""The files whose digests DONE holds, those of them that a run has."""

_WRITTEN_AT_THE_END = (MODEL, ENCODER, PREDICTIONS, CLIENTS, SUMMARY)
_OF_ARRAYS = (MODEL, PREDICTIONS, PARTITION)
_SMALL = 1 << 26  # bytes of a file for people: the names and scores of a million clients
_LARGE = 1 << 34  # bytes of arrays: no model here is near it


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FileDigest:
    """What a file was when the run was finished: its sha256 and its size."""

    sha256: str
    bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The mark of a finished run.

    Attributes:
        format: Of the folder.
        spec: The digest of everything in the spec that changes a result.
        files: The digest of every result.
    """

    format: int
    spec: str
    files: Mapping[str, FileDigest]


def is_file_of_run(path: Path) -> bool:
    """Tell whether a path is that of a file that a run keeps, be it there or not."""
    is_run = all(is_there(path.parent / name) for name in (SPEC, ENVIRONMENT))
    return is_run and path.name in {*RESULTS, SPEC, ENVIRONMENT, TIMINGS, NODES, DONE, LOCK}


def read_named(folder: Path, name: str) -> bytes | None:
    """Return the content of a file, no larger than such a file can be; None if it is not there."""
    return read_file(folder / name, _LARGE if name in _OF_ARRAYS else _SMALL)


def parse_file(folder: Path, name: str, read: Callable[[bytes], T], wanted: FileDigest | None) -> T:
    """Read a file that must be there.

    Args:
        folder: The run folder.
        name: The file.
        read: Turns its content into a value; raises a ValueError for what is none.
        wanted: Its digest; None where there is none to hold it against.

    Raises:
        StoreError: If it is missing, differs from its digest, or cannot be read.
    """
    content = read_named(folder, name)
    if content is None:
        raise _damaged(folder, name, "it is not there")
    if wanted is not None:
        compare_digest(folder, name, (hashlib.sha256(content).hexdigest(), len(content)), wanted)
    try:
        return read(content)
    except ValueError as error:
        raise _damaged(folder, name, str(error).rstrip(".")) from error


def compare_digest(
    folder: Path, name: str, found: tuple[str, int] | None, wanted: FileDigest
) -> None:
    """Refuse a file that is missing (None), or whose sha256 and size are not the wanted ones."""
    if found is None:
        raise _damaged(folder, name, "it is not there")
    if found != (wanted.sha256, wanted.bytes):
        reason = f"its {found[1]} bytes are not the {wanted.bytes} whose digest {DONE} holds"
        raise _damaged(folder, name, reason)


def read_digests(folder: Path, tag: str, folder_format: int) -> Mapping[str, FileDigest]:
    """Return the digests in DONE; none before the run is finished, and none in format 1.

    Args:
        folder: The run folder.
        tag: The digest of its spec.
        folder_format: The format of the folder.

    Raises:
        StoreError: If DONE is damaged, or is that of another spec.
    """
    content = read_named(folder, DONE)
    if content is None or (not content and folder_format == 1):
        return {}
    try:
        done = decode(Done, read_json(content))
    except ValueError as error:
        raise StoreError(
            f"{folder / DONE} is damaged ({error}); delete it, then fedmgda resume {folder} writes "
            "it again."
        ) from error
    if done.spec != tag:
        raise StoreError(
            f"{folder / SPEC} is not the spec of the run that was finished here; restore it."
        )
    return done.files


def _damaged(folder: Path, name: str, reason: str) -> StoreError:
    remedy = "restore it, or start a new run in another folder"
    if name in _WRITTEN_AT_THE_END:
        remedy = f"delete {folder / DONE}, then fedmgda resume {folder} writes it again"
    return StoreError(f"{folder / name} is missing or damaged ({reason}); {remedy}.")
