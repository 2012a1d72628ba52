"""Checkpoints: a server state in one file that is whole or not there, and checks itself."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import MissingDependencyError, StoreError
from fedmgda._files import (
    make_folder,
    read_file,
    remove_file,
    remove_temporary_files,
    write_file,
)
from fedmgda._json import read_json
from fedmgda.federation._selection import Selected
from fedmgda.federation._state import ServerState

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fedmgda._types import Vector

__all__ = ["latest_checkpoint", "load_checkpoint", "save_checkpoint"]

_KEPT = 2  # checkpoints on disk: if the newest is damaged the one before it still stands
_SELECTION = ("selected_round", "selected_score", "selected_since")
_RECORD = "sha256 of "
_MAX_BYTES = 1 << 34  # refuse to read more than 16 GiB: no model here is near it


def save_checkpoint(server: ServerState, folder: Path, tag: str = "") -> Path:
    """Write the state, then remove all but the newest two checkpoints.

    Args:
        server: The state.
        folder: Where the checkpoints of one run are.
        tag: What the state belongs to; it must be given again to load it.

    Raises:
        StoreError: If the disk refuses; the checkpoints before it are still there.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder} is a symbolic link; put the folder itself there.")
    make_folder(folder)
    arrays: dict[str, NDArray[Any]] = {"params": server.params}
    arrays |= {f"rule.{name}": array for name, array in server.rule_state.items()}
    if server.average is not None:
        arrays["average"] = server.average
    if server.selected is not None and server.selected.model is not None:
        arrays["selected"] = server.selected.model
    # What is not contiguous would be written in another order than it is read.
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    facts = {
        "round_num": str(server.round_num),
        "failed_rounds": str(server.failed_rounds),
        "tag": tag,
    } | _selection_facts(server.selected)
    if server.held_rounds:
        facts["held_rounds"] = str(server.held_rounds)
    facts |= {f"{_RECORD}{name}": digest for name, digest in server.records.items()}
    content = _safetensors().save(arrays, metadata=facts | {"sha256": _digest(arrays, facts)})
    path = folder / f"round-{server.round_num:08d}.safetensors"
    write_file(path, content)
    for old in _checkpoints(folder)[_KEPT:]:
        remove_file(old)
    remove_temporary_files(folder)
    return path


def load_checkpoint(path: Path, tag: str = "") -> ServerState:
    """Read a state back.

    Raises:
        StoreError: If the file is damaged in any way, or belongs to something else.
    """
    library = _safetensors()
    content = read_file(path, _MAX_BYTES)
    if content is None:
        raise StoreError(f"The checkpoint {path} is not there.")
    try:
        return _parse(content, library, tag)
    except Exception as error:  # whatever a parser makes of damaged bytes, the cause is the file
        raise StoreError(f"The checkpoint {path} cannot be read: {error}.") from error


def _parse(content: bytes, library: Any, tag: str) -> ServerState:
    arrays = library.load(content)
    header = read_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
    facts = header["__metadata__"]
    if facts.pop("sha256") != _digest(arrays, facts):
        raise ValueError("it does not match its own checksum")
    if facts["tag"] != tag:
        raise ValueError("it belongs to another spec")
    selected = _selected(facts, arrays.pop("selected", None))
    return ServerState(
        round_num=int(facts["round_num"]),
        params=arrays.pop("params"),
        average=arrays.pop("average", None),
        selected=selected,
        rule_state={name.removeprefix("rule."): array for name, array in arrays.items()},
        failed_rounds=int(facts["failed_rounds"]),
        held_rounds=int(facts.get("held_rounds", "0")),
        records={
            name.removeprefix(_RECORD): digest
            for name, digest in facts.items()
            if name.startswith(_RECORD)
        },
    )


def _selection_facts(selected: Selected | None) -> dict[str, str]:
    if selected is None:
        return {}
    numbers = (selected.round_num, selected.score, selected.since)
    return dict(zip(_SELECTION, map(repr, numbers), strict=True))


def _selected(facts: dict[str, str], model: Vector | None) -> Selected | None:
    if _SELECTION[0] not in facts:
        return None
    round_num, score, since = (facts[name] for name in _SELECTION)
    return Selected(round_num=int(round_num), score=float(score), since=int(since), model=model)


def latest_checkpoint(folder: Path, tag: str = "") -> tuple[ServerState | None, list[str]]:
    """Return the newest state that reads back whole, and a sentence for each that did not.

    Raises:
        StoreError: If there are checkpoints and every one of them is damaged.
    """
    problems: list[str] = []
    for path in _checkpoints(folder):
        try:
            return load_checkpoint(path, tag), problems
        except StoreError as error:
            problems.append(str(error))
    if problems:
        raise StoreError(
            f"No checkpoint in {folder} can be read; delete the run folder and start again. "
            + " ".join(problems)
        )
    return None, problems


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("round-*.safetensors"), reverse=True)


def _digest(arrays: dict[str, NDArray[Any]], facts: dict[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape};".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _safetensors() -> Any:
    try:
        import safetensors.numpy  # noqa: PLC0415 (only checkpoints need it)
    except ImportError as error:
        raise MissingDependencyError(
            "Checkpoints need the package safetensors; install it with: pip install 'fedmgda[sim]'."
        ) from error
    return safetensors.numpy
