"""The rounds of a strategy as they are told to whoever started it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from flwr.app import MetricRecord

from fedmgda.experiments import execute, open_run
from fedmgda.flower.strategy._client_id import CLIENT_ID
from fedmgda.flower.strategy._reply_values import shared_metrics
from fedmgda.values import flat_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from flwr.app import ArrayRecord, RecordDict

    from fedmgda._types import Vector
    from fedmgda.experiments import RunFolder
    from fedmgda.flower.strategy._clients import StrategyClients
    from fedmgda.flower.strategy._model_arrays import ModelArrays
    from fedmgda.rules import Rule
    from fedmgda.values import Failure

__all__ = ["Averages", "Told", "final_arrays", "log_failures", "round_metrics", "told_rounds"]

_LOG = logging.getLogger("flwr")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Averages:
    """How the metrics of several clients become one record.

    Attributes:
        average: The function of the app, or Flower's own.
        weight: The key of the numbers that it weighs by.
        own: Whether it is the app's: then it is given the replies as they came.
    """

    average: Callable[[list[RecordDict], str], MetricRecord]
    weight: str
    own: bool

    def of(self, contents: Sequence[RecordDict]) -> MetricRecord | None:
        """Return the record; None where there is nothing that can be averaged."""
        given = list(contents) if self.own else shared_metrics(contents, self.weight)
        return self.average(given, self.weight) if given else None


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """A round that was made: its number, 0 before the first, the model after it, its metrics."""

    round_num: int
    arrays: ArrayRecord
    metrics: MetricRecord | None


def told_rounds(
    folder: RunFolder,
    clients: StrategyClients,
    rule: Rule,
    arrays: ModelArrays,
    averages: Averages,
) -> Iterator[Told]:
    """Carry a run out and tell its rounds, the initial model first where it begins here."""
    for progress in execute(folder, clients, rule):
        for note in progress.notes:
            _LOG.warning("%s", note)
        row, model = progress.row, arrays.record(clients.model)
        if row is None:
            if progress.round_num == 0:
                yield Told(round_num=0, arrays=model, metrics=None)
            continue
        log_failures(row.round_num, row.quarantined)
        metrics = None
        if row.lam is not None and row.norm is not None and row.gap is not None:
            metrics = averages.of([clients.trained[client] for client in row.client_ids])
            metrics = round_metrics(metrics, row.client_ids, row.lam, row.norm, row.gap)
        yield Told(round_num=row.round_num, arrays=model, metrics=metrics)


def round_metrics(
    metrics: MetricRecord | None,
    client_ids: Iterable[int],
    lam: Vector,
    norm: float,
    gap: float,
) -> MetricRecord:
    """Return the metrics of a round with λ and its certificate beside the averages."""
    ours: Mapping[str, float | list[int] | list[float]] = {
        f"{CLIENT_ID}s": list(client_ids),
        "lam": lam.tolist(),
        "norm": norm,
        "gap": gap,
    }
    return MetricRecord({**(metrics or {}), **ours})


def log_failures(round_num: int, failures: Iterable[Failure]) -> None:
    """Say who was left out of a round, and why."""
    for failure in failures:
        _LOG.warning("round %d, client %d: %s", round_num, failure.client_id, failure.reason)


def final_arrays(folder: RunFolder, arrays: ModelArrays) -> ArrayRecord:
    """Return the model that a finished run keeps."""
    return arrays.record(flat_vector(arrays.layout, open_run(folder.path).model_arrays()))
