"""One run, from a folder to its end, in steps the caller can watch."""

from __future__ import annotations

import hashlib
import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from fedmgda._errors import FederationStalledError
from fedmgda._json import to_json
from fedmgda.data import fingerprint
from fedmgda.experiments._alone import train_alone
from fedmgda.experiments._baselines import (
    Pooled,
    carried_out,
    lone_federation,
    pooled_data,
    refuse_remote,
)
from fedmgda.experiments._build import build_federation, build_pool
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._client_names import known_ids, with_client_ids
from fedmgda.experiments._evidence import evidence_of
from fedmgda.experiments._folder_files import CLIENTS, ENCODER, MODEL, PREDICTIONS, SUMMARY
from fedmgda.experiments._gram import cone_gram_bytes, gram_bytes
from fedmgda.experiments._hints import shorter_steps
from fedmgda.experiments._judge import judge
from fedmgda.experiments._known_losses import KnownLosses
from fedmgda.experiments._measure import client_results, evaluation_row, round_row, summarize
from fedmgda.experiments._official import official_test, refuse_remote_test, with_official
from fedmgda.experiments._progress import Progress, going_on, start_params
from fedmgda.experiments._protection import protection_summary
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._results import clients_csv, encoder_bytes, model_bytes, predictions_bytes
from fedmgda.experiments._rows import TimingRow
from fedmgda.experiments._scores import check_metrics_of_task, with_metrics
from fedmgda.experiments._sentences import TOO_LONG_STEPS, buffers
from fedmgda.experiments._settle import Settled, settle
from fedmgda.experiments._signals import Interrupted, interruptible
from fedmgda.experiments._steady import check_steady
from fedmgda.experiments._validation import (
    check_validation,
    select_model,
    validation_score,
    with_selection,
)
from fedmgda.federation import initial_state, latest_checkpoint, save_checkpoint, simulate
from fedmgda.metrics import pareto_residual

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedmgda._types import Split, Vector
    from fedmgda.data import FederatedData
    from fedmgda.experiments._rows import EvaluationRow, RoundRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._store import RunFolder
    from fedmgda.federation import Federation, RoundRecord, Selected, ServerState
    from fedmgda.rules import Rule
    from fedmgda.values import Clients, Evaluation

__all__ = ["Progress", "execute"]

_STALLS_KEPT = 4  # stalled rounds whose whole Gram matrix is kept: enough to see who blocks


def execute(
    folder: RunFolder,
    clients: Clients | None = None,
    rule: Rule | None = None,
    *,
    settled: Settled | None = None,
) -> Iterator[Progress]:
    """Carry a run from where it stands to its end; a finished run has nothing to yield.

    Args:
        folder: The run.
        clients: Who trains and evaluates; then no data is read here, and nothing is known of it
            but what the clients say. None builds the pool that the spec describes.
        rule: The rule, where the caller has it; None builds the one that the spec describes.
        settled: What `settle` made of the spec; data that it read is not read again.

    Raises:
        Interrupted: After SIGINT or SIGTERM; the folder can be resumed.
        FederationStalledError: If too many rounds in a row had no usable update.
        StoreError: If the folder cannot be written; it can be resumed.
    """
    with folder.locked(), interruptible():
        if folder.done:
            return
        with going_on(folder):
            folder.clear()
        spec = folder.spec()
        if clients is not None:
            refuse_remote(spec)
            refuse_remote_test(spec)
            spec = with_client_ids(spec, clients.client_names, clients.num_clients)
            spec = carried_out(spec, clients.num_clients)
            yield from _carry_out(folder, spec, clients, rule, _Here())
            return
        # Where nobody has settled the spec, it is settled here and the folder keeps it as it is.
        settled = settled or settle(spec)
        spec, notes, data = settled.spec, settled.notes, settled.data
        if data is None:
            data, notes = build_data(spec)
        spec = with_client_ids(spec, data.client_names, data.num_clients)
        spec = carried_out(spec, data.num_clients)
        with _pool(spec, data) as pool, official_test(spec, pool) as official:
            if spec.server.protect is not None and spec.baseline is None:
                check_steady(pool)
            # Format 1 left memory-mapped features out of the fingerprint.
            old = fingerprint(data, mapped=False)
            here = _Here(notes=notes, also=(old,), official=official)
            yield from _carry_out(folder, spec, pool, rule, here)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """What is known where the data is.

    Attributes:
        notes: Sentences the user should see.
        also: Further fingerprints of the data that are right.
        official: Who evaluates on the official test set.
    """

    notes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    official: Clients | None = None


@contextmanager
def _pool(spec: Spec, data: FederatedData) -> Iterator[Clients]:
    """Yield who trains and evaluates; close it after use."""
    with build_pool(spec, data) as pool:
        if spec.baseline != "pooled":
            yield pool
            return
        with build_pool(spec, pooled_data(data)) as whole:
            yield Pooled(pool, whole)


def _carry_out(
    folder: RunFolder, spec: Spec, clients: Clients, rule: Rule | None, here: _Here
) -> Iterator[Progress]:
    with going_on(folder):
        folder.keep_partition(clients.facts, here.also)
        folder.keep_path(clients.path)
    if spec.baseline == "alone":
        yield from train_alone(folder, spec, clients, here.notes)
        return
    known = KnownLosses(clients)
    of_one = lone_federation(spec, known) if spec.baseline else None
    federation = of_one or build_federation(spec, known, rule)
    run = _Run(folder, spec, known, federation, here.official)
    run.notes += here.notes
    if clients.num_buffers:
        protected = federation.protection is not None
        run.notes += (buffers(clients.num_buffers, protected=protected),)
    yield from run.steps()
    run.finish()


class _Run:
    """The loop of one run and the little it remembers between rounds."""

    def __init__(
        self,
        folder: RunFolder,
        spec: Spec,
        clients: KnownLosses,
        federation: Federation,
        official: Clients | None,
    ) -> None:
        self._folder, self._spec, self._clients = folder, spec, clients
        self._federation, self._official = federation, official
        self._malicious = known_ids(spec.attack.clients)
        check_validation(spec.evaluation, clients.facts, self._malicious)
        check_metrics_of_task(spec.evaluation, clients.facts.num_classes)
        self._saved_at = time.monotonic()
        self._tag = folder.tag
        self._server, self._evaluation, self.notes = self._start()
        before = open_run(folder.path).rounds if self._server.round_num else ()
        self._stalls = sum(bool(row.stalled) for row in before)
        self._held = sum(bool(row.held) for row in before)

    def steps(self) -> Iterator[Progress]:
        """Yield where the run stands, then do the rounds that are left."""
        yield self._progress(None)
        if self._ended():
            return  # killed between its last checkpoint and DONE
        try:
            for server, record in simulate(self._federation, self._server):
                yield self._progress(self._record(server, record))
                if self._ended():
                    return
        except (Interrupted, FederationStalledError, GeneratorExit) as error:
            # The last is how a caller leaves, be it that a signal reached it between two rounds.
            with going_on(self._folder):
                self._save()
            if isinstance(error, FederationStalledError):
                raise self._hopeless(str(error)) from error
            raise

    def _hopeless(self, sentence: str) -> FederationStalledError:
        """Name the step that is too long where clients sent numbers that are none."""
        rounds = open_run(self._folder.path).rounds
        last = rounds[-1].quarantined if rounds else ()  # who is out there may be lost at any time
        if any(word in f.reason for f in last for word in ("NaN", "Inf")):
            hint = shorter_steps(self._spec, rounds, math.inf)[0]
            sentence = TOO_LONG_STEPS.format(error=sentence, hint=hint)
        return FederationStalledError(sentence)

    def finish(self) -> None:
        """Write what a finished run leaves behind, of the last model or of the selected one."""
        run = open_run(self._folder.path)
        rounds, row, model = run.rounds, self._evaluation, self._server.model
        if (kept := self._server.selected) is not None and kept.model is not None:
            row = next(row for row in run.evaluations if row.round_num == kept.round_num)
            model = kept.model
        if self._server.failed_rounds == self._spec.rounds:
            # Of a baseline it is nobody's update but that of all rows together.
            names = None if self._spec.baseline else self._clients.client_names
            raise self._hopeless(_no_good_round(rounds, names))
        facts, names = self._clients.facts, self._clients.client_names
        summary = with_selection(summarize(rounds, row, names), self._server, self._spec.rounds)
        table = client_results(rounds, row, facts.sizes, names)
        if self._spec.baseline is not None:  # the one that holds everything is all of them
            table = tuple(replace(client, rounds=len(rounds)) for client in table)
        predictions = self._predictions(model)
        summary, table = with_metrics(self._spec, facts, predictions, summary, table)
        kept_rows = predictions if self._spec.records.keeps_predictions else None
        verdict = judge(evidence_of(run, self._spec, self._clients, row, kept_rows))
        protection = protection_summary(self._spec, rounds)
        summary = replace(summary, verdict=verdict, protection=protection)
        results = {
            MODEL: model_bytes(model, facts.layout),
            ENCODER: encoder_bytes(facts.encoder),
            PREDICTIONS: kept_rows,
            CLIENTS: clients_csv(table),
            SUMMARY: to_json(summary).encode(),
        }
        with going_on(self._folder):
            self._save()
            self._folder.finish(results)

    def _predictions(self, model: Vector) -> bytes | None:
        if not self._spec.records.keeps_predictions and self._spec.evaluation.metrics is None:
            return None
        found = self._evaluated(model, predictions=True).predictions
        return None if found is None else predictions_bytes(found, self._clients.facts.num_classes)

    def _start(self) -> tuple[ServerState, EvaluationRow, tuple[str, ...]]:
        """Take up the newest checkpoint, or evaluate the initial model."""
        records = self._folder.records
        server, problems = latest_checkpoint(self._folder.checkpoints, self._tag)
        if server is not None:
            done = range(server.round_num + 1)
            with going_on(self._folder):
                due = [r for r in done if self._is_due(r)]
                records.rewind(server.round_num, due, server.records)
            return server, open_run(self._folder.path).evaluations[-1], tuple(problems)
        server = initial_state(
            self._federation, start_params(self._folder, self._spec, self._clients)
        )
        evaluation = self._evaluate(server)
        with going_on(self._folder):
            records.rewind(-1, [])
            evaluation = records.append_evaluation(evaluation)
        return self._selecting(server, None, evaluation), evaluation, ()

    def _record(self, server: ServerState, record: RoundRecord) -> RoundRow:
        """Measure the round and write it down; from then on it counts as done."""
        started = time.perf_counter()
        before, after = self._losses(server, record)
        evaluation = self._evaluate(server) if self._is_due(server.round_num) else None
        row = round_row(record, before, after, self._malicious, self._digest(server, record))
        whole, kept = self._stalls < _STALLS_KEPT, self._spec.records.keeps_gram
        gram = gram_bytes(record, whole=whole) if kept else None
        cone = cone_gram_bytes(record) if kept else None
        seconds = {**record.seconds, "evaluate": time.perf_counter() - started}
        records = self._folder.records
        with going_on(self._folder):
            row = records.append_round(row, gram, cone)
            records.append_timing(TimingRow(round_num=server.round_num, seconds=seconds))
            if evaluation is not None:
                self._evaluation = records.append_evaluation(evaluation)
            self._server = self._selecting(server, self._server.selected, evaluation)
            self._stalls += bool(row.stalled)
            self._held += bool(row.held)
            if time.monotonic() - self._saved_at >= self._spec.engine.checkpoint_seconds:
                self._save()
        return row

    def _losses(
        self, server: ServerState, record: RoundRecord
    ) -> tuple[Vector | None, Vector | None]:
        """Return the cohort's losses under the old model and the new one, as far as wanted."""
        clients, measured = record.cohort.client_ids, self._clients.training_losses
        reported = self._spec.clients.reported_loss == "before"
        before = record.cohort.losses if reported else None
        if self._federation.protection is not None:  # then the truth is known
            before = measured(self._server.params, clients)
        due = self._spec.evaluation.improved_is_due(record.round_num)
        if not due or not clients:
            return before, None
        if before is None:
            before = measured(self._server.params, clients)
        return before, measured(server.params, clients)

    def _digest(self, server: ServerState, record: RoundRecord) -> str:
        """Return the digest of the model after a protected round, as a finished run would have."""
        if record.protected is None:
            return ""
        return hashlib.sha256(model_bytes(server.model, self._clients.facts.layout)).hexdigest()

    def _is_due(self, round_num: int) -> bool:
        return self._spec.evaluation.is_due(round_num, self._spec.rounds)

    def _ended(self) -> bool:
        patience, selected = self._spec.evaluation.patience, self._server.selected
        tired = patience is not None and selected is not None and selected.since >= patience
        return tired or self._stationary() or self._server.round_num >= self._spec.rounds

    def _stationary(self) -> bool:
        """Tell whether so many rounds were held that no step is to be expected any more."""
        protection, server = self._federation.protection, self._server
        held = protection is not None and server.held_rounds >= protection.patience
        return held and self._is_due(server.round_num)  # so that the last model is evaluated

    def _selecting(
        self, server: ServerState, best: Selected | None, row: EvaluationRow | None
    ) -> ServerState:
        return replace(
            server,
            selected=select_model(best, server, row, self._spec.evaluation),
            records=self._folder.records.digests(),
        )

    def _evaluated(
        self, model: Vector, split: Split = "test", *, predictions: bool = False
    ) -> Evaluation:
        everyone = tuple(range(self._federation.num_clients))
        return self._clients.evaluate(model, everyone, split, predictions=predictions)

    def _evaluate(self, server: ServerState) -> EvaluationRow:
        evaluation, wanted = self._evaluated(server.model), self._spec.evaluation
        row = evaluation_row(server.round_num, evaluation, self._malicious)
        row = with_official(row, self._official, server.model)
        if wanted.pareto:
            gradients = self._clients.gradients(server.model, evaluation.client_ids)
            residual = pareto_residual(gradients.updates) if gradients.client_ids else None
            row = replace(row, pareto_residual=residual)
        if wanted.measure:
            held_back = self._evaluated(server.model, "validation")
            weighted = self._spec.clients.class_weights is not None
            score = validation_score(held_back, self._malicious, wanted.measure, by_rows=weighted)
            row = replace(row, validation_score=score if math.isfinite(score) else None)
        return row

    def _save(self) -> None:
        self._folder.records.sync()
        save_checkpoint(self._server, self._folder.checkpoints, self._tag)
        self._saved_at = time.monotonic()

    def _progress(self, row: RoundRow | None) -> Progress:
        notes, self.notes = self.notes, ()
        return Progress(
            round_num=self._server.round_num,
            rounds=self._spec.rounds,
            row=row,
            evaluation=self._evaluation,
            num_params=self._clients.num_params,
            held=None if self._federation.protection is None else self._held,
            notes=notes,
        )


def _no_good_round(rounds: Sequence[RoundRow], names: Sequence[str] | None) -> str:
    """Say why a run that never moved the model is not called finished."""
    reasons = rounds[-1].quarantined
    why = ""
    if reasons:
        who = names[reasons[0].client_id] if names else reasons[0].client_id
        why = f" (client {who}: {reasons[0].reason})"
    return (
        f"No usable update in any of the {len(rounds)} rounds{why}; "
        "the model is the initial one. Look at the quarantined clients."
    )
