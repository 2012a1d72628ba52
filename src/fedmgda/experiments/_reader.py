"""A run as others see it: everything its folder holds, typed, checked, read when asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, final

from fedmgda._errors import DataError, SpecError, StoreError
from fedmgda._files import file_digest, is_locked, is_there, read_part
from fedmgda._json import decode, read_json
from fedmgda.data import data_facts, fingerprint
from fedmgda.experiments._baselines import carried_out
from fedmgda.experiments._client_names import known_ids, with_client_ids
from fedmgda.experiments._environment import FORMAT, Environment
from fedmgda.experiments._evidence import Evidence
from fedmgda.experiments._folder_files import (
    CLIENTS,
    DONE,
    ENCODER,
    ENVIRONMENT,
    LOCK,
    MODEL,
    PARTITION,
    PREDICTIONS,
    SPEC,
    SUMMARY,
    compare_digest,
    parse_file,
    read_digests,
    read_named,
)
from fedmgda.experiments._gram import gram_size, read_gram
from fedmgda.experiments._judge import judge
from fedmgda.experiments._measure import client_results
from fedmgda.experiments._parse import parse
from fedmgda.experiments._partition import (
    is_same_partition,
    partition_fingerprint,
    partition_holdings,
    partition_sizes,
    partition_target_sums,
)
from fedmgda.experiments._records import (
    EVALUATIONS,
    GRAM,
    ROUNDS,
    TIMINGS,
    read_rows,
    read_timings,
)
from fedmgda.experiments._results import (
    check_owners,
    read_clients_csv,
    read_encoder,
    read_model,
    read_predictions,
)
from fedmgda.experiments._rows import EvaluationRow, RoundRow, Summary
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._tag import spec_tag
from fedmgda.experiments._toml import parse_toml
from fedmgda.experiments._trained_model import TrainedModel, check_model_code
from fedmgda.experiments._validation import last_round

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Split, Vector
    from fedmgda.data import Encoder, FederatedData
    from fedmgda.experiments._folder_files import FileDigest
    from fedmgda.experiments._rows import ClientResult, Gram, GramPlace, RowPredictions, TimingRow
    from fedmgda.experiments._verdict import Verdict

__all__ = ["OTHER_DATA", "Run", "RunState", "holds_run", "num_buffers", "open_run", "run_folders"]

T = TypeVar("T")
RunState: TypeAlias = Literal["finished", "running", "stopped", "not begun"]

OTHER_DATA = (
    "The data is not what the run in {path} began with; restore it, or start a new run with "
    "another --out."
)


def open_run(path: Path | str) -> Run:
    """Open a run folder for reading, be its run finished, running, stopped or not begun.

    Nothing is imported that the spec may name, and nothing is written.

    Raises:
        DataError: If there is no run in it.
        StoreError: If it cannot be read, or is of a later format.
        SpecError: If its spec is damaged.
    """
    return Run(Path(path))


def holds_run(path: Path) -> bool:
    """Tell whether a folder is that of a run: whatever is called its spec is there."""
    return is_there(path / SPEC)


def run_folders(path: Path) -> list[Path]:
    """Return the run folders that lie in a folder, as a sweep leaves them."""
    try:
        return sorted(spec.parent for spec in path.glob(f"*/{SPEC}"))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error


@final
class Run:
    """One run: what it was asked for, where it stands, and all that it left behind.

    Every part is read and checked when it is first asked for, and kept: open the run again to see
    what has been added since. Of a finished run every file is held against its digest in `DONE`,
    every record also against the digests in its own lines.

    Attributes:
        path: The folder.
        spec: The resolved spec.
        environment: Versions, machine, commit, and the format of the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        content = read_named(path, SPEC)
        if content is None:
            if inside := run_folders(path):
                raise DataError(_several(path, inside))
            raise DataError(f"{path} holds no run: there is no {SPEC} in it.")
        table = parse_toml(content, path / SPEC)
        try:
            self.spec = parse(Spec, table)
        except SpecError as error:
            raise SpecError(f"{path / SPEC} is damaged, or of a later version: {error}") from error
        for key, named in (("data", self.spec.data), ("model", self.spec.model)):
            if not named.name:  # every spec that was resolved has both
                raise SpecError(f"{path / SPEC} is damaged: {key}.name is missing.")
        self.environment = self._environment()

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / DONE).is_file()

    @property
    def begun(self) -> bool:
        """Whether the initial model has been evaluated."""
        return self.finished or is_there(self.path / EVALUATIONS)

    @property
    def state(self) -> RunState:
        """Where the run stands at this moment."""
        if self.finished:
            return "finished"
        if is_locked(self.path / LOCK):
            return "running"
        return "stopped" if self.begun else "not begun"

    def holds(self, spec: Spec) -> bool:
        """Tell whether the run has the results of a spec: some of its keys change none."""
        return spec_tag(self.spec) == spec_tag(spec)

    @cached_property
    def rounds(self) -> tuple[RoundRow, ...]:
        """The rounds so far.

        Raises:
            StoreError: If a line is damaged, or the run is finished and one is missing.
        """
        spec = self.carried_out

        def expected(rows: Sequence[RoundRow]) -> list[int]:
            if spec.baseline == "alone":
                return []  # every client has rounds of its own
            rated = []
            if spec.evaluation.patience is not None:
                rated = read_rows(self.path / EVALUATIONS, EvaluationRow)[0]
            return list(range(1, last_round(spec, rated, rows) + 1))

        return self._rows(ROUNDS, RoundRow, expected)

    @cached_property
    def evaluations(self) -> tuple[EvaluationRow, ...]:
        """The evaluations so far, that of the initial model first.

        Raises:
            StoreError: If a line is damaged, or the run is finished and one is missing.
        """

        def expected(rows: Sequence[EvaluationRow]) -> list[int]:
            spec = self.carried_out
            if spec.baseline == "alone":
                return [0, spec.rounds]
            is_due, rounds = spec.evaluation.is_due, spec.rounds
            made = []
            if spec.server.protect is not None:
                made = read_rows(self.path / ROUNDS, RoundRow)[0]
            ended = last_round(spec, rows, made)
            return [number for number in range(ended + 1) if is_due(number, rounds)]

        return self._rows(EVALUATIONS, EvaluationRow, expected)

    @cached_property
    def carried_out(self) -> Spec:
        """The spec with the rounds and evaluations that are really carried out.

        A baseline has those of one client's share of the federation.
        """
        if self.spec.baseline is None:
            return self.spec
        return carried_out(self.spec, len(self.sizes["train"]))

    @cached_property
    def timings(self) -> tuple[TimingRow, ...]:
        """The seconds of the rounds so far, as far as they are known."""
        return tuple(read_timings(self.path / TIMINGS))

    @cached_property
    def summary(self) -> Summary:
        """What a finished run is remembered by."""
        return self._parsed(SUMMARY, lambda content: decode(Summary, read_json(content)))

    @cached_property
    def clients(self) -> tuple[ClientResult, ...]:
        """What every client has, took part in and got up to the last evaluation."""
        if CLIENTS in self._digests:
            return self._parsed(CLIENTS, read_clients_csv)
        if not self.evaluations:
            return ()
        names = [client.name for client in self.summary.clients] if self.finished else None
        return client_results(self.rounds, self.evaluations[-1], self.sizes, names)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the run was worth it: as it was written, or as its records say by now.

        Raises:
            StoreError: If a record is damaged, or there is no evaluation yet.
        """
        summary = self.summary if self.finished else None
        if summary is not None and summary.verdict is not None:
            return summary.verdict
        if not self.evaluations:
            raise StoreError(f"{self.path} has no evaluation yet; fedmgda resume {self.path}")
        named = [client.name for client in summary.clients] if summary else []
        kept = summary.round_num if summary else self.evaluations[-1].round_num
        one_model = self.finished and self.spec.baseline != "alone"
        return judge(
            Evidence(
                spec=self.spec,
                rounds=self.rounds,
                evaluations=self.evaluations,
                judged=next(row for row in self.evaluations if row.round_num == kept),
                gram=self.gram,
                cone_gram=self.cone_gram,
                predictions=self.predictions(),
                target_sums=self.target_sums,
                names=named or None,
                class_names=self.class_names,
                num_buffers=num_buffers(self.model_arrays()) if one_model else 0,
            )
        )

    @cached_property
    def fingerprint(self) -> str:
        """What changes with the data, and with who holds which of it."""
        return self._parsed(PARTITION, partition_fingerprint)

    @cached_property
    def sizes(self) -> Mapping[Split, Indices]:
        """How many examples each client has, by split."""
        return self._parsed(PARTITION, partition_sizes)

    @cached_property
    def users(self) -> tuple[str, ...]:
        """Who the clients are: what two runs have in common here are the same users.

        A client that has a name is who it is called. One without is the rows that it holds, of the
        same data, in whichever split: where the seed deals the rows, the clients of another seed
        are other users, whatever their numbers.
        """
        names = [client.name for client in self.clients]
        if names and all(names):
            return tuple(map(str, names))
        return self._parsed(PARTITION, partition_holdings)

    @cached_property
    def attackers(self) -> tuple[int, ...]:
        """The numbers of the clients that attack.

        Raises:
            SpecError: If the spec calls one by a name that nobody has.
        """
        given = self.spec.attack.clients or ()
        if self.spec.attack.name in {None, "none"} or self.spec.baseline is not None:
            return ()
        if all(isinstance(client, int) for client in given):
            return known_ids(given)
        names = [client.name or str(client.client_id) for client in self.clients]
        return known_ids(with_client_ids(self.spec, names, len(names)).attack.clients)

    @cached_property
    def target_sums(self) -> Vector | None:
        """Sums of the training targets, as `ClientFacts` has them; None where not known."""
        return self._parsed(PARTITION, partition_target_sums)

    def gram(self, round_num: int) -> Gram | None:
        """Return the inner products of the updates of a round; None where they were not kept."""
        row = self.rounds[round_num - 1]
        return self._gram(row, row.gram, row.lam)

    def cone_gram(self, round_num: int) -> Gram | None:
        """Return the inner products of the unit gradients of a protected round, where kept."""
        row = self.rounds[round_num - 1]
        if (cone := row.protection) is None:
            return None
        return self._gram(row, cone.gram, cone.omega_lam + cone.multipliers)

    def _gram(self, row: RoundRow, place: GramPlace | None, lam: Vector | None) -> Gram | None:
        path = self.path / GRAM
        if place is None:
            return None
        try:
            if place.rows != len(row.client_ids):
                raise ValueError("the line of the round has another number of clients")  # noqa: TRY301
            return read_gram(read_part(path, place.offset, gram_size(place)), place, lam)
        except ValueError as error:
            raise StoreError(
                f"{path} is damaged at round {row.round_num}: {error}; restore it, or delete the "
                "folder and run again."
            ) from error

    def model_arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return the tensors of the trained model, by their names in the torch module.

        Raises:
            DataError: If every client has a model of its own.
        """
        if self.spec.baseline == "alone":
            raise DataError(
                f"{self.path} has no model: every client trained one by itself, and none is kept; "
                "name a run of the federation, or a pooled one."
            )
        return self._parsed(MODEL, read_model)

    def predictions(self) -> RowPredictions | None:
        """Return what the trained model says of every test example; None where it was not kept."""
        if not self.finished or PREDICTIONS not in self._digests:
            return None
        count = len(self.sizes["train"])
        return self._parsed(
            PREDICTIONS,
            lambda content: check_owners(read_predictions(content), count, self.target_sums),
        )

    def encoder(self) -> Encoder | None:
        """Return how rows become features; None where it was not kept."""
        if ENCODER not in self._digests:
            return None
        return self._parsed(ENCODER, read_encoder)

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What the classes are called, where that was kept."""
        encoder = self.encoder()
        return None if encoder is None else encoder.class_names

    def model(self, *, allow_code: bool = True) -> TrainedModel:
        """Return the trained model, which takes raw rows where the run has an encoder.

        Args:
            allow_code: False refuses a model of the spec's own code, `package.module:name`;
                building any other imports nothing that the spec names.

        Raises:
            DataError: If the run is not finished, or has no model for everybody.
            SpecError: If the model is code and that is refused, or is not the one that was trained.
        """
        if not self.finished:
            raise DataError(
                f"{self.path} is not finished and has no model yet; fedmgda resume {self.path} "
                "goes on with it."
            )
        if not allow_code:
            check_model_code(self.spec)
        return TrainedModel(self.spec, self.model_arrays(), self.encoder())

    def check_data(self, data: FederatedData) -> None:
        """Refuse data that differs from what the run began with, if it has begun.

        Raises:
            StoreError: If it does.
        """
        content = read_named(self.path, PARTITION)
        old = fingerprint(data, mapped=False)
        if content is not None and not is_same_partition(content, data_facts(data), {old}):
            raise StoreError(OTHER_DATA.format(path=self.path))

    def check(self) -> None:
        """Read every result of a finished run and hold it against the digest in `DONE`.

        Raises:
            StoreError: At the first file that is not what the run wrote.
        """
        for name in self.result_files:
            self.check_file(name)
        if self.finished:
            _ = self.rounds, self.evaluations, self.summary

    @property
    def result_files(self) -> tuple[str, ...]:
        """The files whose digests are in `DONE`; none before the run is finished."""
        return tuple(self._digests)

    def check_file(self, name: str) -> None:
        """Hold a file of a finished run against its digest.

        Raises:
            StoreError: If it is not what the run wrote.
        """
        wanted = self._digests[name]
        compare_digest(self.path, name, file_digest(self.path / name, wanted.bytes), wanted)

    def _environment(self) -> Environment:
        found = parse_file(
            self.path, ENVIRONMENT, lambda content: decode(Environment, read_json(content)), None
        )
        if found.format > FORMAT:
            raise StoreError(
                f"{self.path} has format {found.format}, and this version knows {FORMAT} and "
                "below; update fedmgda."
            )
        return found

    @cached_property
    def _digests(self) -> Mapping[str, FileDigest]:
        return read_digests(self.path, spec_tag(self.spec), self.environment.format)

    def _rows(
        self, name: str, kind: type[T], expected: Callable[[Sequence[T]], list[int]]
    ) -> tuple[T, ...]:
        finished = self.finished
        digests = self._digests if finished else {}
        rows: list[Any]
        rows, found = read_rows(self.path / name, kind)  # type: ignore[type-var]
        if finished and [row.round_num for row in rows] != expected(rows):
            raise StoreError(
                f"{self.path} is marked as finished by {DONE}, but lines of its {name} are "
                f"missing; delete the folder, with {DONE} and the checkpoints in it, and run again."
            )
        if name in digests:
            compare_digest(self.path, name, found, digests[name])
        return tuple(rows)

    def _parsed(self, name: str, read: Callable[[bytes], T]) -> T:
        return parse_file(self.path, name, read, self._digests.get(name))


def num_buffers(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return how many numbers of a model are running statistics."""
    running = ("running_mean", "running_var")  # what batch norm calls them
    return sum(array.size for name, array in arrays.items() if name.endswith(running))


def _several(path: Path, inside: Sequence[Path]) -> str:
    """Say what a folder of runs is, and which command goes on with it."""
    specs = [read_named(folder, SPEC) or b"" for folder in inside]
    if any(line.startswith(b"baseline =") for spec in specs for line in spec.splitlines()):
        return (
            f"{path} holds the runs of a comparison; the same fedmgda run --compare command goes "
            f"on with it, and fedmgda compare {path} tells who is better off."
        )
    return f"{path} holds a sweep; the same fedmgda sweep command goes on with it."
