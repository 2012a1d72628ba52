"""All clients of a call on threads of this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Vector
    from fedmgda.clients._bench import Outcome, Task
    from fedmgda.clients._compiled import CompiledBench
    from fedmgda.data import FederatedData

__all__ = ["Threads"]


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
        self._threads = ThreadPoolExecutor(workers, "fedmgda") if workers > 1 else None
        self._rows: dict[str, Matrix] = {}

    def run(
        self, task: Task, params: Vector, client_ids: Sequence[int]
    ) -> tuple[list[Outcome], Matrix]:
        """Return the outcome of each client, and a matrix of their m rows."""
        split, m = self._data.split(task.split), len(client_ids)
        rows = self._reserve(task.work, m)
        slots = sorted(range(m), key=lambda slot: -len(split[client_ids[slot]]))

        def perform(slot: int) -> Outcome:
            return self._bench.perform(task, client_ids[slot], params, rows[slot])

        each = map(perform, slots) if self._threads is None else self._threads.map(perform, slots)
        outcomes = dict(zip(slots, each, strict=True))
        return [outcomes[slot] for slot in range(m)], rows

    def _reserve(self, work: str, num_rows: int) -> Matrix:
        """Return a matrix that is reused from call to call and grows when it must."""
        if work not in self._rows or len(self._rows[work]) < num_rows:
            self._rows[work] = np.empty((num_rows, self._widths[work]), np.float32)
        return self._rows[work][:num_rows]

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
