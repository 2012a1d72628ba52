"""All clients of a call on threads of this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.clients._compiled_trainer import CompiledTrainer
    from fedmgda.clients._work import LocalWork, Outcome, Rows, Scores
    from fedmgda.data import FederatedData

__all__ = ["Threads"]

_T = TypeVar("_T")


@final
class Threads:
    """Gives each free thread the largest client that is left.

    A client is one call that holds no lock, so threads share the work without a copy of anything.
    Like `Serial` it cannot end a client that takes too long.
    """

    def __init__(self, data: FederatedData, trainer: CompiledTrainer, workers: int) -> None:
        self._data, self._trainer = data, trainer
        self._workers = workers
        self._threads = ThreadPoolExecutor(workers, "fedmgda") if workers > 1 else None

    def run(
        self,
        work: LocalWork,
        params: Vector,
        client_ids: Sequence[int],
        known: Mapping[int, float],
        rows: Rows,
    ) -> list[Outcome]:
        """Do the work for the clients, largest first."""
        sizes = [len(self._data.train[client_id]) for client_id in client_ids]
        slots = sorted(range(len(client_ids)), key=lambda slot: -sizes[slot])

        def perform(slot: int) -> Outcome:
            client_id = client_ids[slot]
            return self._trainer.perform(
                work, client_id, params, known.get(client_id), rows.of(slot)
            )

        outcomes = dict(zip(slots, self._map(perform, slots), strict=True))
        return [outcomes[slot] for slot in range(len(client_ids))]

    def evaluate(self, models: Matrix, client_ids: Sequence[int], split: Split) -> Scores:
        """Score the clients in a few calls: for a small one the call would cost more than it."""
        size = max(1, len(client_ids) // (4 * self._workers))

        def some(start: int) -> Scores:
            return self._trainer.evaluate(models, client_ids[start : start + size], split)

        pieces = list(self._map(some, range(0, len(client_ids), size)))
        scores = [np.empty((len(models), 0, 2)), *(scores for scores, _ in pieces)]
        reasons = {client_id: why for _, some in pieces for client_id, why in some.items()}
        return np.concatenate(scores, axis=1), reasons

    def _map(self, work: Callable[[int], _T], items: Iterable[int]) -> Iterable[_T]:
        return map(work, items) if self._threads is None else self._threads.map(work, items)

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
