"""The run folder: everything a run leaves behind, and all a report or a resume needs.

spec.toml           the resolved spec
environment.json    versions, cores, commit, seed
partition.npz       which examples each client trains, validates and tests on
rounds.jsonl        one object per round; the same bytes however often the run was killed
evaluations.jsonl   accuracy and loss of every user at every evaluation; likewise
timings.jsonl       seconds by phase: the one record that differs from run to run
checkpoints/        the newest two server states
model.safetensors   the trained model, named as in the torch module
summary.json        the metrics of the last evaluation
DONE                the run is finished
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from fedmgda._errors import DataError, LockedError, StoreError
from fedmgda.experiments._environment import environment
from fedmgda.experiments._parse import parse
from fedmgda.experiments._partition import partition_bytes
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._toml import read_toml, to_toml
from fedmgda.federation import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fedmgda.data import FederatedData

__all__ = ["RunFolder"]

_RECORDS = ("rounds.jsonl", "evaluations.jsonl", "timings.jsonl")


class RunFolder:
    """One folder, one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[str, IO[bytes]] = {}

    @classmethod
    def create(cls, path: Path, spec: Spec) -> RunFolder:
        """Make the folder, or take it up again if it holds a run of the same spec."""
        folder = cls(path)
        if (path / "spec.toml").exists():
            if folder.spec() == spec:
                return folder
            if (path / "evaluations.jsonl").exists():
                raise StoreError(
                    f"{path} already holds a run of another spec; choose another --out, or "
                    f"continue that run with: fedmgda resume {path}"
                )
            folder._forget()  # a run that never began, say for a misspelt column
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(entry.name != "lock" for entry in path.iterdir()):
                raise StoreError(
                    f"{path} is not empty and holds no run; choose another --out folder."
                )
            write_atomically(
                path / "environment.json",
                (json.dumps(environment(spec.seed), indent=2) + "\n").encode(),
            )
            write_atomically(path / "spec.toml", to_toml(spec).encode())
        except OSError as error:
            raise StoreError(
                f"The run folder {path} cannot be written: {error.strerror}; "
                "choose another place with --out."
            ) from error
        return folder

    def _forget(self) -> None:
        with self.locked():
            for name in ("spec.toml", "environment.json", "partition.npz"):
                (self.path / name).unlink(missing_ok=True)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Take up a folder that exists."""
        if not (path / "spec.toml").is_file():
            raise DataError(f"{path} holds no run: there is no spec.toml in it.")
        return cls(path)

    def spec(self) -> Spec:
        """Return the resolved spec."""
        return parse(Spec, read_toml(self.path / "spec.toml"))

    @property
    def checkpoints(self) -> Path:
        """The folder of the server states."""
        return self.path / "checkpoints"

    @property
    def done(self) -> bool:
        """Whether the run is finished."""
        return (self.path / "DONE").exists()

    def records(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a record; a torn last line is left out."""
        path = self.path / f"{name}.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Add one line to a record and hand it to the system."""
        file = self._file(f"{name}.jsonl")
        file.write(json.dumps(_plain(record), separators=(",", ":")).encode() + b"\n")
        file.flush()

    def keep_partition(self, data: FederatedData) -> None:
        """Store who holds which examples; on a resume, make sure that the data is still the same.

        Raises:
            StoreError: If the data differs from what the run began with.
        """
        path = self.path / "partition.npz"
        if path.exists():
            self.check_partition(data)
        else:
            write_atomically(path, partition_bytes(data))

    def check_partition(self, data: FederatedData) -> None:
        """Refuse data that differs from what the run began with."""
        path = self.path / "partition.npz"
        if path.exists() and path.read_bytes() != partition_bytes(data):
            raise StoreError(
                f"The data is not what the run in {self.path} began with; restore it, or start a "
                "new run with another --out."
            )

    def sync(self) -> None:
        """Wait until the records are on the disk: a checkpoint must never be ahead of them."""
        for file in self._files.values():
            os.fsync(file.fileno())

    def rewind(self, round_num: int) -> None:
        """Cut the records back to what was known after a round; -1 leaves nothing."""
        for name in _RECORDS:
            path = self.path / name
            if path.exists():
                lines = path.read_bytes().split(b"\n")[:-1]
                kept = [line for line in lines if json.loads(line)["round"] <= round_num]
                if kept != lines or path.stat().st_size != sum(len(line) + 1 for line in lines):
                    write_atomically(path, b"".join(line + b"\n" for line in kept))
        if len(self.records("rounds")) != max(round_num, 0):
            raise StoreError(
                f"{self.path / 'rounds.jsonl'} lacks rounds before {round_num}; the folder was "
                "damaged by something else. Delete it and run again."
            )

    def finish(self, summary: dict[str, Any], model: bytes) -> None:
        """Write what a finished run leaves, the mark that it is finished last."""
        self.sync()
        write_atomically(self.path / "model.safetensors", model)
        text = json.dumps(_plain(summary), indent=2) + "\n"
        write_atomically(self.path / "summary.json", text.encode())
        write_atomically(self.path / "DONE", b"")

    def summary(self) -> dict[str, Any]:
        """Return the metrics of the last evaluation of a finished run."""
        content: dict[str, Any] = json.loads((self.path / "summary.json").read_text())
        return content

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process out; the system lifts the lock if this one dies."""
        try:
            lock = (self.path / "lock").open("a+")
        except OSError as error:
            raise StoreError(
                f"The run folder {self.path} cannot be written: {error.strerror}."
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                raise LockedError(
                    f"Process {lock.read().strip() or 'unknown'} is working in {self.path}; "
                    "wait for it or stop it first."
                ) from error
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            try:
                yield
            finally:
                self.close()

    def close(self) -> None:
        """Close the record files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _file(self, name: str) -> IO[bytes]:
        if name not in self._files:
            self._files[name] = (self.path / name).open("ab")
        return self._files[name]


def _plain(value: Any) -> Any:
    """Turn NumPy values into plain ones, and what JSON cannot say (NaN, Inf) into null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
