"""The baseline `alone`: every client trains by itself, one after the other, and keeps its model.

A checkpoint holds what is known of the clients that are done; a run that is killed loses the work
of one client at most. Models are not kept: there are as many as clients.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import FederationStalledError
from fedmgda._json import decode, encode, read_json, to_json
from fedmgda.experiments._baselines import lone_federation
from fedmgda.experiments._folder_files import CLIENTS, ENCODER, MODEL, PREDICTIONS, SUMMARY
from fedmgda.experiments._measure import client_results, evaluation_row, summarize
from fedmgda.experiments._progress import Progress, going_on, start_params
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._results import clients_csv, encoder_bytes, predictions_bytes
from fedmgda.experiments._scores import check_metrics_of_task, with_metrics
from fedmgda.experiments._signals import Interrupted
from fedmgda.experiments._validation import check_validation, validation_score
from fedmgda.federation import (
    Selected,
    ServerState,
    initial_state,
    latest_checkpoint,
    run_round,
    save_checkpoint,
    select,
)
from fedmgda.values import Evaluation, Failure, Predictions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedmgda._types import Vector
    from fedmgda.experiments._rows import EvaluationRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._store import RunFolder
    from fedmgda.values import Clients

__all__ = ["train_alone"]


def train_alone(
    folder: RunFolder, spec: Spec, clients: Clients, notes: tuple[str, ...] = ()
) -> Iterator[Progress]:
    """Let every client train by itself, from where the run stands, and write what it leaves."""
    run = _Alone(folder, spec, clients)
    run.notes += notes
    yield from run.steps()
    run.finish()


class _Alone:
    """The loop over clients, and what is known of those that are done."""

    def __init__(self, folder: RunFolder, spec: Spec, clients: Clients) -> None:
        check_validation(spec.evaluation, clients.facts, ())
        check_metrics_of_task(spec.evaluation, clients.facts.num_classes)
        self._folder, self._spec, self._clients = folder, spec, clients
        self._tag, self._saved_at = folder.tag, time.monotonic()
        self._params, self._before, self._told, self.notes = self._start()

    def steps(self) -> Iterator[Progress]:
        """Yield where the run stands, then train the clients that are left."""
        yield self._progress()
        try:
            for client in range(len(self._told), self._clients.num_clients):
                self._told = (*self._told, self._outcome(client))
                if time.monotonic() - self._saved_at >= self._spec.engine.checkpoint_seconds:
                    with going_on(self._folder):
                        self._save()
                yield self._progress()
        except (Interrupted, GeneratorExit):
            with going_on(self._folder):
                self._save()
            raise

    def finish(self) -> None:
        """Write what a finished run leaves behind; a model is not among it."""
        facts, names = self._clients.facts, self._clients.client_names
        counted = [int(told["rounds"][0]) for told in self._told]
        if not any(counted):
            raise FederationStalledError(
                "No client made a usable update of the initial model by itself; look at "
                "clients.client_lr."
            )
        row, content = self._row(self._spec.rounds), self._predictions()
        table = tuple(
            replace(client, rounds=counted[client.client_id])
            for client in client_results((), row, facts.sizes, names)
        )
        summary, table = with_metrics(self._spec, facts, content, summarize((), row, names), table)
        with going_on(self._folder):
            self._save()
            self._folder.records.rewind(0, [0])
            self._folder.records.append_evaluation(row)
            self._folder.finish(
                {
                    MODEL: None,
                    ENCODER: encoder_bytes(facts.encoder),
                    PREDICTIONS: content if self._spec.records.keeps_predictions else None,
                    CLIENTS: clients_csv(table),
                    SUMMARY: to_json(summary).encode(),
                }
            )

    def _start(
        self,
    ) -> tuple[Vector, EvaluationRow, tuple[dict[str, NDArray[Any]], ...], tuple[str, ...]]:
        """Take up the newest checkpoint, or evaluate the initial model."""
        records, everyone = self._folder.records, range(self._clients.num_clients)
        state, problems = latest_checkpoint(self._folder.checkpoints, self._tag)
        if state is not None:
            with going_on(self._folder):
                records.rewind(0, [0], state.records)
            before = open_run(self._folder.path).evaluations[0]
            told = tuple(_of_client(state, client) for client in range(state.round_num))
            return state.params, before, told, tuple(problems)
        params = start_params(self._folder, self._spec, self._clients)
        before = evaluation_row(0, self._clients.evaluate(params, everyone, "test"), ())
        with going_on(self._folder):
            records.rewind(-1, [])
            before = records.append_evaluation(before)
        return params, before, (), ()

    def _outcome(self, client: int) -> dict[str, NDArray[Any]]:
        """Train one client, and return what its model says of its test rows."""
        model, counted = self._trained(client)
        found = self._clients.evaluate(model, (client,), "test", predictions=True)
        arrays: dict[str, NDArray[Any]] = {
            "scores": np.array([found.losses[0], found.accuracies[0], found.num_examples[0]]),
            "rounds": np.array([counted]),
        }
        if found.failures:
            arrays["failure"] = _text(encode(found.failures[0]))
        elif found.predictions is not None and len(found.predictions.rows):
            told = found.predictions
            arrays |= {"rows": told.rows, "targets": told.targets, "outputs": told.outputs}
        return arrays

    def _trained(self, client: int) -> tuple[Vector, int]:
        """Return the model a client comes to by itself, and in how many rounds it moved."""
        federation = lone_federation(self._spec, self._clients, client)
        server = initial_state(federation, self._params)
        best, counted = self._selected(None, server, client), 0
        for _ in range(self._spec.rounds):
            server, record = run_round(federation, server)
            counted += record.failed is None
            best = self._selected(best, server, client)
            patience = self._spec.evaluation.patience
            if best is not None and patience is not None and best.since >= patience:
                break
        model = server.model if best is None else best.model
        return server.model if model is None else model, counted

    def _selected(self, best: Selected | None, server: ServerState, client: int) -> Selected | None:
        """Return the best model of a client by its own validation rows, where one is selected."""
        wanted, size = self._spec.evaluation, self._clients.facts.sizes["validation"][client]
        due = wanted.is_due(server.round_num, self._spec.rounds)
        if wanted.measure is None or not due or not size:
            return best
        found = self._clients.evaluate(server.model, (client,), "validation")
        score = validation_score(found, (), wanted.measure)
        latest = Selected(round_num=server.round_num, score=score, model=server.model)
        return select(best, latest, wanted.measure)

    def _row(self, round_num: int) -> EvaluationRow:
        """Return how every client is served: by its own model, or not yet."""
        done = len(self._told)
        scores = np.array([told["scores"] for told in self._told]).reshape(-1, 3)
        losses = np.concatenate([scores[:, 0], self._before.losses[done:]])
        accuracies = np.concatenate([scores[:, 1], self._before.accuracies[done:]])
        failures = [
            decode(Failure, read_json(bytes(told["failure"])))
            for told in self._told
            if "failure" in told
        ]
        found = Evaluation(
            client_ids=self._before.client_ids,
            losses=losses,
            accuracies=accuracies,
            num_examples=self._before.num_examples,
            failures=tuple(failures),
        )
        return evaluation_row(round_num, found, ())

    def _predictions(self) -> bytes | None:
        if not self._spec.records.keeps_predictions and self._spec.evaluation.metrics is None:
            return None
        tested = [(i, told) for i, told in enumerate(self._told) if "outputs" in told]
        if not tested:
            return None
        found = Predictions(
            rows=np.concatenate([told["rows"] for _, told in tested]),
            clients=np.repeat([i for i, _ in tested], [len(told["rows"]) for _, told in tested]),
            targets=np.concatenate([told["targets"] for _, told in tested]),
            outputs=np.concatenate([told["outputs"] for _, told in tested]),
        )
        return predictions_bytes(found, self._clients.facts.num_classes)

    def _save(self) -> None:
        self._folder.records.sync()
        told = {
            f"{client}.{name}": array
            for client, arrays in enumerate(self._told)
            for name, array in arrays.items()
        }
        state = ServerState(
            round_num=len(self._told),
            params=self._params,
            rule_state=told,
            records=self._folder.records.digests(),
        )
        save_checkpoint(state, self._folder.checkpoints, self._tag)
        self._saved_at = time.monotonic()

    def _progress(self) -> Progress:
        notes, self.notes = self.notes, ()
        return Progress(
            round_num=len(self._told),
            rounds=self._clients.num_clients,
            row=None,
            unit="client",
            evaluation=self._row(self._spec.rounds) if self._told else self._before,
            notes=notes,
        )


def _of_client(state: ServerState, client: int) -> dict[str, NDArray[Any]]:
    head = f"{client}."
    return {
        name.removeprefix(head): array
        for name, array in state.rule_state.items()
        if name.startswith(head)
    }


def _text(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
