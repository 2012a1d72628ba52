"""The run folder: everything a run leaves behind, and all a report or a resume needs (format 2).

spec.toml           the resolved spec
environment.json    format, versions, cores, commit, seed, and what computes
partition.npz       how many examples each client has, which they are, and a fingerprint
rounds.jsonl        one object per round; the same bytes however often the run was killed
gram.bin            the Gram matrices of the rounds, float64, their places and digests in the lines
evaluations.jsonl   accuracy and loss of every user at every evaluation
timings.jsonl       seconds by phase: the one record that differs from run to run
nodes.jsonl         on a network, which node joined, left or was refused, and for which clients
checkpoints/        the newest two server states, with what selection remembers
model.safetensors   the trained model, last or selected, named as in the torch module
encoder.json        how rows become features, where that is known
predictions.npz     what the model says of every test example
clients.csv         every client: its examples, its rounds, how it is served
summary.json        the metrics of that model
DONE                the run is finished: the digests of all results
lock                held by the process that works here
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fedmgda._errors import StoreError
from fedmgda._files import (
    RefusedWriteError,
    file_digest,
    is_there,
    make_folder,
    names_in,
    read_file,
    remove_file,
    remove_temporary_files,
    take_lock,
    write_file,
)
from fedmgda._json import to_json
from fedmgda._text import listed
from fedmgda.experiments._environment import FORMAT, environment
from fedmgda.experiments._folder_files import (
    CHECKPOINTS,
    DONE,
    ENVIRONMENT,
    LOCK,
    NODES,
    PARTITION,
    RESULTS,
    SPEC,
    Done,
    FileDigest,
)
from fedmgda.experiments._partition import (
    is_packed_otherwise,
    is_same_partition,
    partition_bytes,
)
from fedmgda.experiments._reader import OTHER_DATA, open_run, run_folders
from fedmgda.experiments._records import EVALUATIONS, Records
from fedmgda.experiments._tag import spec_tag
from fedmgda.experiments._toml import to_toml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from fedmgda.experiments._spec import Spec
    from fedmgda.values import ClientFacts

__all__ = ["RunFolder"]

_BEFORE_A_RUN = (SPEC, ENVIRONMENT, PARTITION)
_LARGEST_PARTITION = 1 << 34


class RunFolder:
    """One folder, one run, to be written; `open_run` reads it.

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

        Keys that change no result may differ: a run that is not finished goes on with the new ones.

        Raises:
            LockedError: If another process works in it; nothing has been written then.
            StoreError: If the folder holds something else, or cannot be written.
        """
        folder = cls(path)
        if folder._is_ready(spec):
            return folder
        try:
            make_folder(path)
            with folder.locked():
                if not folder._is_ready(spec):  # what another process did in the meantime counts
                    folder._prepare(spec)
        except RefusedWriteError as error:
            raise StoreError(f"{error} Choose another place with --out.") from error
        return folder

    def check_free_for(self, spec: Spec) -> None:
        """Refuse what `create` would refuse for a settled spec; nothing is written.

        Raises:
            StoreError: If the folder holds something else.
        """
        self._is_ready(spec)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Take up a folder that exists."""
        open_run(path)
        return cls(path)

    def spec(self) -> Spec:
        """Return the resolved spec."""
        return open_run(self.path).spec

    @property
    def tag(self) -> str:
        """What a checkpoint belongs to."""
        return spec_tag(self.spec())

    @property
    def checkpoints(self) -> Path:
        """The folder of the server states."""
        return self.path / CHECKPOINTS

    @property
    def done(self) -> bool:
        """Whether the run is finished."""
        return (self.path / DONE).is_file()

    def keep_partition(self, facts: ClientFacts, also: Collection[str] = ()) -> None:
        """Store who holds which examples; on a resume, make sure that the data is still the same.

        Args:
            facts: What is known of the clients.
            also: Further fingerprints that are right, where the run began with an old format.

        Raises:
            StoreError: If the data differs from what the run began with.
        """
        path = self.path / PARTITION
        content = read_file(path, _LARGEST_PARTITION)
        if content is None or is_packed_otherwise(content, facts):
            write_file(path, partition_bytes(facts))
        elif not is_same_partition(content, facts, also):
            raise StoreError(OTHER_DATA.format(path=self.path))

    def keep_path(self, path: str) -> None:
        """Write what computes into the environment; on a resume, make sure it is still the same.

        A folder of format 1 goes on as one of format 2 from here.

        Raises:
            StoreError: If the run began on another path: its numbers differ in the last digits.
        """
        facts = open_run(self.path).environment
        if facts.path not in {None, path}:
            raise StoreError(
                f"The run in {self.path} began on the {facts.path} path and would go on on the "
                f"{path} path; install what it began with, or start a new run with another --out."
            )
        known = replace(facts, path=path, format=FORMAT)
        if known != facts:
            write_file(self.path / ENVIRONMENT, to_json(known).encode())

    def keep_initial_model(self, digest: str) -> None:
        """Write which model file the run starts from; on a resume, make sure it is still the same.

        Raises:
            StoreError: If the run began with another one.
        """
        facts = open_run(self.path).environment
        if facts.init not in {None, digest}:
            raise StoreError(
                f"The file of model.init is not the one the run in {self.path} began with; restore "
                "it, or start a new run with another --out."
            )
        if facts.init is None:
            content = to_json(replace(facts, init=digest)).encode()
            write_file(self.path / ENVIRONMENT, content)

    def finish(self, results: Mapping[str, bytes | None]) -> None:
        """Write what a finished run leaves, the mark that it is finished last.

        Args:
            results: The content of files by name; None for one that this run does not have.
        """
        self.records.sync()
        for name, content in results.items():
            if content is None:
                remove_file(self.path / name)  # of an end that was begun and not reached
            else:
                write_file(self.path / name, content)
        digests = {name: file_digest(self.path / name) for name in RESULTS}
        files = {name: FileDigest(sha256=d[0], bytes=d[1]) for name, d in digests.items() if d}
        done = Done(format=FORMAT, spec=self.tag, files=files)
        write_file(self.path / DONE, to_json(done).encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process out; the system lifts the lock if this one dies."""
        with take_lock(self.path / LOCK):
            try:
                yield
            finally:
                self.records.close()

    def clear(self) -> None:
        """Remove what writes that were cut short have left; call it under the lock."""
        remove_temporary_files(self.path)

    def _is_ready(self, spec: Spec) -> bool:
        """Tell whether the folder holds the spec as it is, or refuse it if it holds another run."""
        if not is_there(self.path / SPEC):
            self._refuse_foreign_files()
            return False
        run = open_run(self.path)
        if run.holds(spec):
            return run.finished or run.spec == spec
        if is_there(self.path / EVALUATIONS):
            raise StoreError(
                f"{self.path} already holds a run of another spec; choose another --out, or "
                f"continue that run with: fedmgda resume {self.path}"
            )
        self._refuse_foreign_files()
        return False

    def _prepare(self, spec: Spec) -> None:
        """Write what a run begins with, over what one left that never began."""
        known = is_there(self.path / SPEC) and open_run(self.path).holds(spec)
        if not known:
            for name in _BEFORE_A_RUN:
                remove_file(self.path / name)
            write_file(self.path / ENVIRONMENT, to_json(environment(spec.seed)).encode())
        write_file(self.path / SPEC, to_toml(spec).encode())

    def _refuse_foreign_files(self) -> None:
        ours = {LOCK, NODES, *_BEFORE_A_RUN}
        if any(name not in ours and not name.endswith(".tmp") for name in names_in(self.path)):
            runs = listed((folder.name for folder in run_folders(self.path)), 5, last=" and ")
            holds = f"holds the runs {runs}" if runs else "is not empty and holds no run"
            raise StoreError(f"{self.path} {holds}; choose another --out folder.")
