"""All clients of a call on threads of this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fedmgda._types import Matrix, Vector
    from fedmgda.clients._bench import Outcome, Task
    from fedmgda.clients._compiled import CompiledBench
    from fedmgda.data import FederatedData

__all__ = ["Threads"]

_T = TypeVar("_T")


@final
class Threads:
    """Gives each free thread the largest client that is left.

    A client is one call that holds no lock, so threads share the work without a copy of anything.
    Like `Serial` it cannot end a client that takes too long.
    """

    def __init__(
        self, data: FederatedData, bench: CompiledBench, widths: Mapping[str, int], workers: int
    ) -> None:
        self._data, self._bench, self._widths = data, bench, widths
        self._workers = workers
        self._threads = ThreadPoolExecutor(workers, "fedmgda") if workers > 1 else None
        self._rows: dict[str, Matrix] = {}

    def run(
        self, task: Task, params: Vector, client_ids: Sequence[int]
    ) -> tuple[list[Outcome], Matrix]:
        """Return the outcome of each client, and a matrix of their m rows."""
        rows = self._reserve(task.work, len(client_ids))
        if task.work == "evaluate":
            return self._evaluate(task, params, client_ids), rows
        sizes = [len(self._data.train[client_id]) for client_id in client_ids]
        slots = sorted(range(len(client_ids)), key=lambda slot: -sizes[slot])

        def perform(slot: int) -> Outcome:
            return self._bench.perform(task, client_ids[slot], params, rows[slot])

        outcomes = dict(zip(slots, self._map(perform, slots), strict=True))
        return [outcomes[slot] for slot in range(len(client_ids))], rows

    def _evaluate(self, task: Task, params: Vector, client_ids: Sequence[int]) -> list[Outcome]:
        """Score the clients in a few calls: for a small one the call would cost more than it."""
        size = max(1, len(client_ids) // (4 * self._workers))
        starts = range(0, len(client_ids), size)

        def some(start: int) -> list[Outcome]:
            return self._bench.evaluate(task.split, client_ids[start : start + size], params)

        return list(chain.from_iterable(self._map(some, starts)))

    def _map(self, work: Callable[[int], _T], items: Iterable[int]) -> Iterable[_T]:
        return map(work, items) if self._threads is None else self._threads.map(work, items)

    def _reserve(self, work: str, num_rows: int) -> Matrix:
        """Return a matrix that is reused from call to call and grows when it must."""
        if work not in self._rows or len(self._rows[work]) < num_rows:
            self._rows[work] = np.empty((num_rows, self._widths[work]), np.float32)
        return self._rows[work][:num_rows]

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
