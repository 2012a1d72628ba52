"""One run, from a folder to its end, in steps the caller can watch."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import FederationStalledError, StoreError
from fedmgda.experiments._build import build_federation, build_pool
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._known_losses import KnownLosses
from fedmgda.experiments._measure import evaluation_row, round_row, summarize
from fedmgda.experiments._signals import Interrupted, interruptible, uninterrupted
from fedmgda.federation import initial_state, latest_checkpoint, save_checkpoint, simulate
from fedmgda.metrics import pareto_residual
from fedmgda.values import named_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Vector
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._store import RunFolder
    from fedmgda.federation import Federation, RoundRecord, ServerState
    from fedmgda.values import Clients

__all__ = ["Progress", "execute"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands after a round.

    Attributes:
        round_num: The rounds done.
        rounds: The rounds to do.
        row: The line of `rounds.jsonl`; None for what was done before this process took over.
        evaluation: The latest line of `evaluations.jsonl`.
        notes: Sentences the user should see, such as a damaged checkpoint that was passed over.
    """

    round_num: int
    rounds: int
    row: dict[str, Any] | None
    evaluation: dict[str, Any]
    notes: tuple[str, ...] = ()


def execute(folder: RunFolder) -> Iterator[Progress]:
    """Carry a run from where it stands to its end; a finished run has nothing to yield.

    Raises:
        Interrupted: After SIGINT or SIGTERM; the folder can be resumed.
        FederationStalledError: If too many rounds in a row had no usable update.
        StoreError: If the folder cannot be written.
    """
    with folder.locked(), interruptible():
        if folder.done:
            return
        spec = folder.spec()
        data, notes = build_data(spec)
        folder.keep_partition(data)
        with build_pool(spec, data) as pool:
            folder.keep_path(pool.path)
            clients = KnownLosses(pool)
            federation = build_federation(spec, clients)
            run = _Run(folder, spec, clients, federation)
            run.notes += notes
            yield from run.steps()
            run.finish(data.client_names)


class _Run:
    """The loop of one run and the little it remembers between rounds."""

    def __init__(
        self, folder: RunFolder, spec: Spec, clients: Clients, federation: Federation
    ) -> None:
        self._folder, self._spec, self._federation = folder, spec, federation
        self._clients = clients
        self._malicious = spec.attack.clients or ()
        self._saved_at = time.monotonic()
        self._tag = folder.tag
        self._server, self._evaluation, self.notes = self._start()

    def steps(self) -> Iterator[Progress]:
        """Yield where the run stands, then do the rounds that are left."""
        yield self._progress(None)
        if self._server.round_num >= self._spec.rounds:
            return  # killed between its last checkpoint and DONE
        try:
            for server, record in simulate(self._federation, self._server):
                yield self._progress(self._record(server, record))
                if server.round_num == self._spec.rounds:
                    return
        except (Interrupted, FederationStalledError):
            with self._writing():
                self._save()
            raise

    def _require_one_good_round(self) -> None:
        """Refuse to call a run finished that never moved the model."""
        if self._server.failed_rounds == self._spec.rounds:
            reasons = self._folder.records.read("rounds")[-1]["quarantined"]
            why = f" (client {reasons[0]['client_id']}: {reasons[0]['reason']})" if reasons else ""
            raise FederationStalledError(
                f"No usable update in any of the {self._spec.rounds} rounds{why}; "
                "the model is the initial one. Look at the quarantined clients."
            )

    def finish(self, names: tuple[str, ...] | None) -> None:
        """Write what a finished run leaves behind."""
        from safetensors.numpy import save  # noqa: PLC0415 (an optional dependency)

        self._require_one_good_round()
        summary = summarize(self._folder.records.read("rounds"), self._evaluation, names)
        with self._writing():
            self._save()
            arrays = named_arrays(self._clients.facts.layout, self._server.model)
            self._folder.finish(summary, save(arrays))

    def _start(self) -> tuple[ServerState, dict[str, Any], tuple[str, ...]]:
        """Take up the newest checkpoint, or evaluate the initial model."""
        records = self._folder.records
        server, problems = latest_checkpoint(self._folder.checkpoints, self._tag)
        if server is not None:
            rounds = range(server.round_num + 1)
            records.rewind(server.round_num, [r for r in rounds if self._evaluation_is_due(r)])
            return server, records.read("evaluations")[-1], tuple(problems)
        server = initial_state(self._federation, self._clients.initial_params())
        evaluation = self._evaluate(server)
        with self._writing():
            records.rewind(-1, [])
            self._folder.records.append("evaluations", evaluation)
        return server, evaluation, ()

    def _record(self, server: ServerState, record: RoundRecord) -> dict[str, Any]:
        """Measure the round and write it down; from then on it counts as done."""
        started = time.perf_counter()
        before, after = self._losses(server, record)
        evaluation = None
        if self._evaluation_is_due(server.round_num):
            evaluation = self._evaluate(server)
        row = round_row(record, before, after, self._malicious)
        seconds = {**record.seconds, "evaluate": time.perf_counter() - started}
        with self._writing():
            self._folder.records.append("rounds", row)
            self._folder.records.append("timings", {"round": server.round_num, **seconds})
            if evaluation is not None:
                self._folder.records.append("evaluations", evaluation)
                self._evaluation = evaluation
            self._server = server
            if time.monotonic() - self._saved_at >= self._spec.engine.checkpoint_seconds:
                self._save()
        return row

    def _losses(
        self, server: ServerState, record: RoundRecord
    ) -> tuple[Vector | None, Vector | None]:
        """Return the cohort's losses under the old model and the new one, as far as wanted."""
        clients, evaluate = record.cohort.client_ids, self._clients.evaluate
        reported = self._spec.clients.reported_loss == "before"
        before = record.cohort.losses if reported else None
        when = self._spec.evaluation
        due = when.improved and record.round_num % when.improved_every == 0
        if not due or not clients:
            return before, None
        if before is None:
            before = evaluate(self._server.params, clients, "train").losses
        return before, evaluate(server.params, clients, "train").losses

    def _evaluation_is_due(self, round_num: int) -> bool:
        when = self._spec.evaluation
        if round_num == 0:
            return True  # the initial model
        due = (round_num - (when.offset or 0)) % when.every == 0
        return due or (bool(when.last) and round_num == self._spec.rounds)

    def _evaluate(self, server: ServerState) -> dict[str, Any]:
        everyone = tuple(range(self._federation.num_clients))
        evaluation = self._clients.evaluate(server.model, everyone, "test")
        residual = None
        if self._spec.evaluation.pareto:
            gradients = self._clients.gradients(server.model, everyone)
            residual = pareto_residual(gradients.updates) if gradients.client_ids else None
        return evaluation_row(server.round_num, evaluation, self._malicious, residual)

    def _save(self) -> None:
        self._folder.records.sync()
        save_checkpoint(self._server, self._folder.checkpoints, self._tag)
        self._saved_at = time.monotonic()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Let no signal cut a write in two, and say plainly when the disk refuses one."""
        try:
            with uninterrupted():
                yield
        except OSError as error:
            raise StoreError(
                f"The run folder {self._folder.path} cannot be written: {error.strerror}; the last "
                f"checkpoint is intact. Go on with: fedmgda resume {self._folder.path}"
            ) from error

    def _progress(self, row: dict[str, Any] | None) -> Progress:
        notes, self.notes = self.notes, ()
        return Progress(
            round_num=self._server.round_num,
            rounds=self._spec.rounds,
            row=row,
            evaluation=self._evaluation,
            notes=notes,
        )
