"""The parts of a run folder, each read by itself: what is wrong with one hides no other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from fedmgda._files import file_digest, is_there, names_in, read_part
from fedmgda._json import decode, read_json
from fedmgda.experiments._audit import FAULTS, Finding
from fedmgda.experiments._baselines import carried_out
from fedmgda.experiments._client_names import with_client_ids
from fedmgda.experiments._environment import FORMAT, Environment
from fedmgda.experiments._folder_files import (
    CHECKPOINTS,
    CLIENTS,
    DONE,
    ENCODER,
    ENVIRONMENT,
    MODEL,
    PARTITION,
    PREDICTIONS,
    SPEC,
    SUMMARY,
    read_named,
)
from fedmgda.experiments._gram import gram_size, read_gram
from fedmgda.experiments._partition import partition_sizes, partition_target_sums
from fedmgda.experiments._reader import num_buffers
from fedmgda.experiments._records import EVALUATIONS, GRAM, ROUNDS, survey_rows
from fedmgda.experiments._results import (
    check_owners,
    read_clients_csv,
    read_encoder,
    read_predictions,
)
from fedmgda.experiments._rows import EvaluationRow, RoundRow, Summary
from fedmgda.experiments._settle import with_participants
from fedmgda.experiments._tensors import read_tensors
from fedmgda.experiments._verify_bytes import read_done
from fedmgda.experiments._verify_step import Precision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Split, Vector
    from fedmgda.experiments._folder_files import Done
    from fedmgda.experiments._rows import ClientResult, Gram, GramPlace, RowPredictions
    from fedmgda.experiments._spec import Spec

__all__ = ["Folder", "Ledger", "read_folder"]

T = TypeVar("T")
_LONGEST = 300  # characters of a reason, whatever is in a file


class Ledger:
    """The findings so far."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def add(self, *findings: Finding | None) -> None:
        """Write down findings; None is none."""
        self.findings += [finding for finding in findings if finding is not None]

    def attempt(self, place: str, work: Callable[[], T]) -> T | None:
        """Return what some work makes of a file; what stops it is a finding, and None is left."""
        try:
            return work()
        except FAULTS as error:
            reason = str(error).rstrip(".")[:_LONGEST] or type(error).__name__
            self.add(Finding(claim=place, standing="wrong", place=place, by=reason))
            return None


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folder:
    """What is known of a run beside its bytes; None stands for what is not there.

    Attributes:
        path: The folder.
        spec: The spec as it is carried out, its clients by number where their names are kept.
        written: The spec as it stands there.
        environment: Versions, machine and format.
        done: The digests of a finished run.
        finished: Whether the run is finished.
        rounds: The rounds, and what is wrong with their record.
        evaluations: The evaluations, likewise.
        sizes: How many examples each client has, by split.
        target_sums: Sums of the training targets.
        clients: The table of clients.
        model: The tensors of the model.
        encoder: How rows become features, as plain JSON.
        summary: What the run is remembered by, as plain JSON.
        predictions: What the model says of every test row: as bytes, and as they were read.
    """

    path: Path
    spec: Spec
    written: Spec
    environment: Environment
    done: Done | None
    finished: bool
    rounds: tuple[list[RoundRow], tuple[int, str] | None]
    evaluations: tuple[list[EvaluationRow], tuple[int, str] | None]
    sizes: Mapping[Split, Indices] | None
    target_sums: Vector | None
    clients: tuple[ClientResult, ...] | None
    model: Mapping[str, NDArray[Any]] | None
    encoder: Mapping[str, Any] | None
    summary: dict[str, Any] | None
    predictions: tuple[bytes, RowPredictions] | None

    @property
    def num_clients(self) -> int:
        """How many clients there are."""
        return 0 if self.sizes is None else len(self.sizes["train"])

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the clients are called, where they have names that are kept."""
        names = tuple(client.name for client in self.clients or () if client.name is not None)
        return names if names and len(names) == self.num_clients else None

    @property
    def num_buffers(self) -> int:
        """How many numbers of the model are running statistics."""
        return 0 if self.model is None else num_buffers(self.model)

    @property
    def precision(self) -> Precision:
        """How exact the numbers of the rounds are."""
        if self.model is None:
            return Precision(num_params=self._most_params(), num_buffers=None, model_length=None)
        floats = [array for array in self.model.values() if array.dtype.kind == "f"]
        squares = [float(np.vdot(a, a)) for a in (array.astype(np.float64) for array in floats)]
        return Precision(
            num_params=sum(array.size for array in floats) - self.num_buffers or None,
            num_buffers=self.num_buffers,
            model_length=float(np.sqrt(sum(squares))),
        )

    def _most_params(self) -> int | None:
        """Return how many parameters there are at most, by the size of the newest checkpoint."""
        states = self.path / CHECKPOINTS
        sizes = [file_digest(states / name, 0) for name in names_in(states)[-1:]]
        return max((found[1] // 4 for found in sizes if found), default=None)

    def gram(self, round_num: int) -> Gram | None:
        """Return what was kept of the Gram matrix of the updates of a round."""
        return self.grams(self.rounds[0][round_num - 1])[0]

    def cone_gram(self, round_num: int) -> Gram | None:
        """Return what was kept of the Gram matrix of the unit gradients of a round."""
        return self.grams(self.rounds[0][round_num - 1])[1]

    def grams(self, row: RoundRow) -> tuple[Gram | None, Gram | None]:
        """Return what was kept of the products of a round's updates, and of its unit gradients.

        Raises:
            ValueError: If it is not what was written there.
        """
        cone = row.protection
        weights = None if cone is None else cone.omega_lam + cone.multipliers
        return (
            self._gram(row.gram, len(row.client_ids), row.lam),
            None if cone is None else self._gram(cone.gram, len(row.client_ids), weights),
        )

    def _gram(self, place: GramPlace | None, rows: int, lam: Vector | None) -> Gram | None:
        if place is None:
            return None
        if place.rows != rows or not 0 <= place.columns <= rows:
            raise ValueError("the line of the round has another number of clients than its matrix")
        return read_gram(read_part(self.path / GRAM, place.offset, gram_size(place)), place, lam)


def read_folder(path: Path, spec: Spec, ledger: Ledger) -> Folder:
    """Read every part of a run folder; write down what cannot be read."""

    def read(name: str, parse: Callable[[bytes], T]) -> T | None:
        content = ledger.attempt(name, lambda: read_named(path, name))
        return None if content is None else ledger.attempt(name, lambda: parse(content))

    # Of a run that is going on: what is written first is read last, and so is there.
    finished = is_there(path / DONE)
    sizes = read(PARTITION, _sizes)
    sums = read(PARTITION, partition_target_sums)
    num_clients = 0 if sizes is None else len(sizes["train"])
    clients = read(CLIENTS, read_clients_csv)
    folder = Folder(
        path=path,
        spec=spec,
        written=spec,
        environment=read(ENVIRONMENT, _environment) or Environment(format=0),
        done=ledger.attempt(DONE, lambda: read_done(path)) if finished else None,
        finished=finished,
        rounds=([], None),
        evaluations=([], None),
        sizes=sizes,
        target_sums=sums,
        clients=clients,
        model=read(MODEL, read_tensors),
        encoder=read(ENCODER, _encoder),
        summary=read(SUMMARY, _summary),
        predictions=read(
            PREDICTIONS,
            lambda content: (content, check_owners(read_predictions(content), num_clients, sums)),
        ),
    )
    known = ledger.attempt(SPEC, lambda: _carried_out(folder)) or spec
    evaluations = ledger.attempt(
        EVALUATIONS, lambda: survey_rows(path / EVALUATIONS, EvaluationRow, known.rounds + 1)
    )
    rounds = ledger.attempt(ROUNDS, lambda: survey_rows(path / ROUNDS, RoundRow, known.rounds))
    return replace(
        folder, spec=known, rounds=rounds or ([], None), evaluations=evaluations or ([], None)
    )


def _carried_out(folder: Folder) -> Spec:
    """Return the spec with numbers for clients, where their names are kept, and real rounds."""
    spec, names, num_clients = folder.written, folder.names, folder.num_clients
    named = (*(spec.attack.clients or ()), *(spec.clients.only or ()))
    if names is not None or not any(isinstance(client, str) for client in named):
        spec = with_client_ids(spec, names, num_clients)
    if not num_clients:
        return spec
    return carried_out(with_participants(spec, num_clients), num_clients)


def _environment(content: bytes) -> Environment:
    found = decode(Environment, read_json(content))
    if found.format > FORMAT:
        raise ValueError(f"it has format {found.format}, later than {FORMAT}; update fedmgda")
    return found


def _sizes(content: bytes) -> Mapping[Split, Indices]:
    sizes = partition_sizes(content)
    arrays = list(sizes.values())
    whole = all(array.ndim == 1 and array.dtype.kind in "iu" for array in arrays)
    if not whole or len({len(array) for array in arrays}) != 1 or min(map(_least, arrays)) < 0:
        raise ValueError("its sizes are no numbers of examples")
    return sizes


def _least(array: Indices) -> int:
    return int(array.min(initial=0))


def _encoder(content: bytes) -> Mapping[str, Any]:
    read_encoder(content)
    found: Mapping[str, Any] = read_json(content)
    return found


def _summary(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = read_json(content)
    decode(Summary, found)
    return found
