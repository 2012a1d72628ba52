"""The run folder: everything a run leaves behind, and all a report or a resume needs.

spec.toml           the resolved spec
environment.json    versions, cores, commit, seed
partition.npz       which examples each client trains, validates and is tested on
rounds.jsonl        one object per round; the same bytes however often the run was killed
evaluations.jsonl   accuracy and loss of every user at every evaluation; likewise
timings.jsonl       seconds by phase: the one record that differs from run to run
checkpoints/        the newest two server states
model.safetensors   the trained model, named as in the torch module
summary.json        the metrics of the last evaluation
DONE                the run is finished
lock                held by the process that works here
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fedmgda._errors import DataError, LockedError, StoreError
from fedmgda.experiments._environment import environment
from fedmgda.experiments._parse import parse
from fedmgda.experiments._partition import partition_bytes
from fedmgda.experiments._records import Records, plain
from fedmgda.experiments._spec import EngineSpec, Spec
from fedmgda.experiments._toml import read_toml, to_toml
from fedmgda.federation import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fedmgda.data import FederatedData

__all__ = ["RunFolder"]

_BEFORE_A_RUN = ("spec.toml", "environment.json", "partition.npz")


class RunFolder:
    """One folder, one run.

    Attributes:
        path: The folder.
        records: What is written line by line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = Records(path)

    @classmethod
    def create(cls, path: Path, spec: Spec) -> RunFolder:
        """Make the folder, or take it up again if it holds a run of the same spec.

        Keys of the engine may differ: a run that is not finished goes on with the new ones.

        Raises:
            StoreError: If the folder holds something else, or cannot be written.
        """
        folder = cls(path)
        begun = (path / "spec.toml").exists()
        known = begun and folder.holds(spec)
        if known and (folder.done or folder.spec() == spec):
            return folder
        if begun and not known and (path / "evaluations.jsonl").exists():
            raise StoreError(
                f"{path} already holds a run of another spec; choose another --out, or "
                f"continue that run with: fedmgda resume {path}"
            )
        try:
            if not known:
                path.mkdir(parents=True, exist_ok=True)
                folder._clear()
                facts = json.dumps(environment(spec.seed), indent=2) + "\n"
                write_atomically(path / "environment.json", facts.encode())
            write_atomically(path / "spec.toml", to_toml(spec).encode())
        except OSError as error:
            raise StoreError(
                f"The run folder {path} cannot be written: {error.strerror}; "
                "choose another place with --out."
            ) from error
        return folder

    def _clear(self) -> None:
        """Remove what a run left that never began, say for a misspelt column or a full disk."""
        ours = {"lock", *_BEFORE_A_RUN}
        foreign = [e for e in self.path.iterdir() if e.name not in ours and e.suffix != ".tmp"]
        if foreign:
            raise StoreError(
                f"{self.path} is not empty and holds no run; choose another --out folder."
            )
        if any(self.path.iterdir()):
            with self.locked():
                for name in _BEFORE_A_RUN:
                    (self.path / name).unlink(missing_ok=True)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Take up a folder that exists."""
        if (path / "spec.toml").is_file():
            return cls(path)
        if next(path.glob("*/spec.toml"), None) is not None:
            raise DataError(
                f"{path} holds a sweep; the same fedmgda sweep command goes on with it."
            )
        raise DataError(f"{path} holds no run: there is no spec.toml in it.")

    def spec(self) -> Spec:
        """Return the resolved spec."""
        return parse(Spec, read_toml(self.path / "spec.toml"))

    def holds(self, spec: Spec) -> bool:
        """Whether the run here has the results of a spec: the keys of the engine change none."""
        return _without_engine(self.spec()) == _without_engine(spec)

    @property
    def tag(self) -> str:
        """What a checkpoint belongs to."""
        return hashlib.sha256(to_toml(_without_engine(self.spec())).encode()).hexdigest()

    @property
    def checkpoints(self) -> Path:
        """The folder of the server states."""
        return self.path / "checkpoints"

    @property
    def done(self) -> bool:
        """Whether the run is finished."""
        return (self.path / "DONE").exists()

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

    def keep_path(self, path: str) -> None:
        """Write what computes into the environment; on a resume, make sure it is still the same.

        Raises:
            StoreError: If the run began on another path: its numbers differ in the last digits.
        """
        file = self.path / "environment.json"
        try:
            facts = dict(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(
                f"{file} is missing or damaged, and with it what the run began with; restore it, "
                "or start a new run with another --out."
            ) from error
        if facts.setdefault("path", path) != path:
            raise StoreError(
                f"The run in {self.path} began on the {facts['path']} path and would go on on the "
                f"{path} path; install what it began with, or start a new run with another --out."
            )
        write_atomically(file, (json.dumps(facts, indent=2) + "\n").encode())

    def check_partition(self, data: FederatedData) -> None:
        """Refuse data that differs from what the run began with."""
        path = self.path / "partition.npz"
        if path.exists() and path.read_bytes() != partition_bytes(data):
            raise StoreError(
                f"The data is not what the run in {self.path} began with; restore it, or start a "
                "new run with another --out."
            )

    def finish(self, summary: dict[str, Any], model: bytes) -> None:
        """Write what a finished run leaves, the mark that it is finished last."""
        self.records.sync()
        write_atomically(self.path / "model.safetensors", model)
        text = json.dumps(plain(summary), indent=2) + "\n"
        write_atomically(self.path / "summary.json", text.encode())
        write_atomically(self.path / "DONE", b"")

    def summary(self) -> dict[str, Any]:
        """Return the metrics of the last evaluation of a finished run."""
        path = self.path / "summary.json"
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            content = None
        if not isinstance(content, dict) or "honest" not in content:
            raise StoreError(
                f"{path} is missing or damaged; delete {self.path / 'DONE'}, then "
                f"fedmgda resume {self.path} writes it again."
            )
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
                self.records.close()


def _without_engine(spec: Spec) -> Spec:
    """Return the spec with the default engine, but on its device, which rounds in its own way."""
    return replace(spec, engine=EngineSpec(device=spec.engine.device))
