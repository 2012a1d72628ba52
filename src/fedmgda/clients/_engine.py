"""Who carries out the work of a pool: this process, its threads, or processes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, final, get_args

import torch

from fedmgda._errors import SpecError
from fedmgda.clients._processes import WorkerProcesses
from fedmgda.clients._threads import Threads
from fedmgda.clients._torch_trainer import one_thread
from fedmgda.clients._work import Scoring, scores_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.clients._settings import Settings
    from fedmgda.clients._torch_trainer import TorchTrainer
    from fedmgda.clients._work import LocalWork, Outcome, Rows, Scores
    from fedmgda.data import FederatedData

__all__ = ["ComputePath", "Engine", "Serial", "choose_engine"]

ComputePath: TypeAlias = Literal["auto", "torch", "compiled"]


class Engine(Protocol):
    """Does work for clients; who does what, and with whom, never shows in the numbers."""

    def run(
        self,
        work: LocalWork,
        params: Vector,
        client_ids: Sequence[int],
        known: Mapping[int, float],
        rows: Rows,
    ) -> list[Outcome]:
        """Let clients train or differentiate a model on their training splits.

        Args:
            work: What each is asked to do.
            params: Of shape `(d + num_buffers,)`, float32: the model they receive.
            client_ids: The m clients.
            known: Training losses of that model that need not be measured again.
            rows: Where they write to.

        Returns:
            The outcome of each client, in the given order.
        """

    def evaluate(self, models: Matrix, client_ids: Sequence[int], split: Split) -> Scores:
        """Score k models, of shape `(k, d + num_buffers)`, for m clients on a split."""

    def close(self) -> None:
        """Let go of whatever does the work."""


@final
class Serial:
    """All clients, one after the other, in this process; it cannot end one that takes too long."""

    def __init__(self, trainer: TorchTrainer) -> None:
        self._trainer = trainer

    def run(
        self,
        work: LocalWork,
        params: Vector,
        client_ids: Sequence[int],
        known: Mapping[int, float],
        rows: Rows,
    ) -> list[Outcome]:
        """Do the work for each client in turn."""
        perform = self._trainer.perform
        with one_thread(), torch.random.fork_rng(devices=[]):
            return [
                perform(work, client_id, params, known.get(client_id), rows.of(slot))
                for slot, client_id in enumerate(client_ids)
            ]

    def evaluate(self, models: Matrix, client_ids: Sequence[int], split: Split) -> Scores:
        """Score the models for each client in turn."""
        scoring = Scoring(split=split)
        with one_thread(), torch.random.fork_rng(devices=[]):
            outcomes = [self._trainer.score(scoring, client, models) for client in client_ids]
        return scores_of(client_ids, outcomes, len(models))

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


def choose_engine(
    data: FederatedData,
    settings: Settings,
    trainer: TorchTrainer,
    *,
    path: ComputePath,
    workers: int,
    client_timeout: float,
) -> tuple[Literal["compiled", "torch"], Engine]:
    """Return what will compute, and the engine: threads, processes or this process.

    Raises:
        ValueError: If a value is none of those that are possible.
        SpecError: If the compiled path is asked for and cannot do what is asked.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}.")
    if not 0 < client_timeout < math.inf:
        raise ValueError(f"client_timeout must be positive and finite, got {client_timeout}.")
    if path not in get_args(ComputePath):
        raise ValueError(f'path must be "auto", "torch" or "compiled", got {path!r}.')
    own, compiled = settings.training.own, None
    if path != "torch" and settings.device == "cpu" and own is None:
        # Training with torch needs no compiler, and does not wait for it to be loaded.
        from fedmgda.clients._compiled_trainer import compile_trainer  # noqa: PLC0415

        compiled = compile_trainer(data, settings, trainer.model, always=path == "compiled")
    if compiled is not None:
        return "compiled", Threads(data, compiled, workers)
    if path == "compiled":
        why = (
            f"cannot call a clients.{own} of your own"
            if own
            else "does not know this model or data"
        )
        raise SpecError(f'clients.path = "compiled" {why}; use "auto" or "torch".')
    if workers > 1:
        return "torch", WorkerProcesses(data, settings, trainer, workers, client_timeout)
    return "torch", Serial(trainer)
