"""All clients, one after the other, in this process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, final

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fedmgda._types import Matrix, Vector
    from fedmgda.clients._bench import Bench, Outcome, Task

__all__ = ["Serial"]


@final
class Serial:
    """Runs a task for each client in turn; cannot end a client that takes too long."""

    def __init__(self, bench: Bench, widths: Mapping[str, int]) -> None:
        self._bench = bench
        self._widths = widths
        self._rows: dict[str, Matrix] = {}

    def run(self, task: Task, params: Vector, units: Sequence[int]) -> tuple[list[Outcome], Matrix]:
        """Return the outcome of each unit, and a matrix of their m rows."""
        rows = self._reserve(task.work, len(units))
        with _one_thread(), torch.random.fork_rng(devices=[]):
            outcomes = [
                self._bench.perform(task, unit, params, row)
                for unit, row in zip(units, rows, strict=True)
            ]
        return outcomes, rows

    def _reserve(self, work: str, num_rows: int) -> Matrix:
        """Return a matrix that is reused from call to call and grows when it must."""
        if work not in self._rows or len(self._rows[work]) < num_rows:
            self._rows[work] = np.empty((num_rows, self._widths[work]), np.float32)
        return self._rows[work][:num_rows]

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread, as the workers of a pool do, and restore the setting."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
