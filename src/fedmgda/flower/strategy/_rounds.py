"""The rounds of a strategy as they are told to whoever started it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from flwr.app import MetricRecord
from flwr.serverapp.strategy import Result

from fedmgda.experiments import execute, open_run
from fedmgda.flower.strategy._client_id import CLIENT_ID
from fedmgda.flower.strategy._reply_values import shared_metrics
from fedmgda.values import flat_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from flwr.app import ArrayRecord, RecordDict
    from flwr.serverapp.strategy import FedAvg

    from fedmgda._types import Vector
    from fedmgda.experiments import RunFolder
    from fedmgda.flower.strategy._clients import StrategyClients
    from fedmgda.flower.strategy._model_arrays import ModelArrays
    from fedmgda.flower.strategy._settings import FedAvgKeywords
    from fedmgda.rules import Rule
    from fedmgda.values import Failure

__all__ = [
    "Told", "averages_of", "final_arrays", "log_failures", "result_of", "round_metrics",
    "told_rounds",
]  # fmt: skip

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


def averages_of(strategy: FedAvg, keywords: FedAvgKeywords) -> tuple[Averages, Averages]:
    """Return how a strategy averages what is told of training, and of evaluations.

    Args:
        strategy: The strategy, which has a function for each.
        keywords: What it was told, so that the app's own function is known as such.
    """
    train, evaluate = "train_metrics_aggr_fn", "evaluate_metrics_aggr_fn"
    own = [keywords.get(name) is not None for name in (train, evaluate)]
    weight = strategy.weighted_by_key
    return (
        Averages(average=strategy.train_metrics_aggr_fn, weight=weight, own=own[0]),
        Averages(average=strategy.evaluate_metrics_aggr_fn, weight=weight, own=own[1]),
    )


def told_rounds(
    folder: RunFolder, clients: StrategyClients, rule: Rule, averages: Averages
) -> Iterator[Told]:
    """Carry a run out and tell its rounds, the initial model first where it begins here."""
    for progress in execute(folder, clients, rule):
        for note in progress.notes:
            _LOG.warning("%s", note)
        row, model = progress.row, clients.arrays.record(clients.model)
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


def result_of(
    rounds: Iterable[Told],
    tell: Callable[[Told], MetricRecord | None],
    evaluate: Callable[[int, ArrayRecord], MetricRecord | None] | None,
) -> Result:
    """Return what Flower keeps of rounds: the metrics of training and of the server's own look.

    Args:
        rounds: The rounds.
        tell: Told of each but the initial model; returns its metrics.
        evaluate: The app's look at each model, the initial one first; None where it has none.
    """
    result = Result()
    for told in rounds:
        trained = tell(told) if told.round_num else None
        if trained is not None:
            result.train_metrics_clientapp[told.round_num] = trained
        central = evaluate(told.round_num, told.arrays) if evaluate else None
        if central is not None:
            result.evaluate_metrics_serverapp[told.round_num] = central
    return result


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
