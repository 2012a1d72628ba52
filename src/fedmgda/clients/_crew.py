"""Worker processes that share the clients of a call."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, final

from fedmgda._errors import FedmgdaError
from fedmgda.clients._bench import Outcome
from fedmgda.clients._process import WorkerProcess, process_context
from fedmgda.clients._shared import SharedArray
from fedmgda.clients._shared_data import SharedData
from fedmgda.clients._worker import Job, SharedMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fedmgda._types import Matrix, Vector
    from fedmgda.clients._bench import Settings, Task
    from fedmgda.clients._groups import Groups
    from fedmgda.data import FederatedData, Split

__all__ = ["Crew"]

_MAX_ATTEMPTS = 2
_MAX_FAILED_STARTS = 2  # in a row, for each worker
_DYING_SECONDS = 2.0


@final
class Crew:
    """Gives each free worker the largest client that is left; replaces workers that die.

    A client whose worker dies is tried once more, one that exceeds its time is not: its worker is
    ended. Who did what never shows in the results.
    """

    def __init__(
        self,
        data: FederatedData,
        settings: Settings,
        widths: Mapping[str, int],
        workers: int,
        client_timeout: float,
        *,
        groups: Callable[[Split], Groups],
    ) -> None:
        self._data = data
        self._groups = groups
        self._client_timeout = client_timeout
        self._settings = _pickled(settings)
        self._context = process_context()
        self._memory: SharedMemory | None = SharedMemory(
            data=SharedData.of(data),
            params=SharedArray((widths["train"],), "float32"),
            rows={work: SharedArray((0, width), "float32") for work, width in widths.items()},
        )
        self._failed_starts = 0
        self._workers = [
            WorkerProcess(self._context, self._memory, self._settings) for _ in range(workers)
        ]

    def run(self, task: Task, params: Vector, units: Sequence[int]) -> tuple[list[Outcome], Matrix]:
        """Return the outcome of each unit, and a matrix of their m rows."""
        if self._memory is None:
            raise ValueError("The pool is closed; make a new one.")
        self._memory.params.array[:] = params
        rows = self._memory.rows[task.work].reserve(len(units))
        queue, outcomes = self._jobs(task, units), dict[int, Outcome]()
        try:
            while len(outcomes) < len(units):
                for worker in [worker for worker in self._workers if worker.idle][: len(queue)]:
                    job = queue.popleft()
                    worker.assign(job, self._client_timeout * len(job.slots))
                for worker in self._wait():
                    outcomes.update(self._hear(worker, queue))
        except BaseException:
            # A worker left at its job would write into the rows of a later call.
            for worker in [worker for worker in self._workers if worker.job]:
                worker.end()
                self._replace(worker)
            raise
        return [outcomes[slot] for slot in range(len(units))], rows

    def close(self) -> None:
        """End all workers and let go of the shared memory."""
        for worker in self._workers:
            worker.end()
        self._workers = []
        self._memory = None

    def _jobs(self, task: Task, units: Sequence[int]) -> deque[Job]:
        """Return the jobs, largest clients first, so that no large one is left for the end."""
        m, size_of = len(units), self._sizes(task)
        order = sorted(range(m), key=lambda slot: -size_of(units[slot]))
        # An evaluation is over so soon that a message for each client would cost more.
        size = max(1, m // (4 * len(self._workers))) if task.work == "evaluate" else 1
        groups = [tuple(order[start : start + size]) for start in range(0, m, size)]
        return deque(Job(task, group, tuple(units[slot] for slot in group)) for group in groups)

    def _sizes(self, task: Task) -> Callable[[int], int]:
        if task.grouped:
            return self._groups(task.split).sizes.__getitem__
        split = self._data.split(task.split)
        return lambda client_id: len(split[client_id])

    def _wait(self) -> list[WorkerProcess]:
        """Return the workers that have something to say, are gone, or are overdue."""
        deadline = min(worker.deadline for worker in self._workers if not worker.idle)
        pipes = [worker.pipe for worker in self._workers]
        readable = set(connection.wait(pipes, max(0.0, deadline - time.monotonic())))
        return [worker for worker in self._workers if worker.pipe in readable or worker.overdue]

    def _hear(self, worker: WorkerProcess, queue: deque[Job]) -> Mapping[int, Outcome]:
        """Return what has become known; put back into the queue what must be done again."""
        try:
            if not worker.pipe.poll():
                return self._lose(worker, queue, overdue=True)
            outcomes = worker.receive()
        except (EOFError, OSError):
            return self._lose(worker, queue, overdue=False)
        self._failed_starts = 0
        return outcomes

    def _lose(
        self, worker: WorkerProcess, queue: deque[Job], *, overdue: bool
    ) -> Mapping[int, Outcome]:
        """Replace a worker that is gone or overdue, and decide about its job."""
        end = worker.end(patience=0.0 if overdue else _DYING_SECONDS)
        self._replace(worker)
        job = worker.job
        if job is None:
            self._count_start(worker, end)
        elif len(job.slots) > 1:
            # Nobody knows which client it was: each for itself.
            queue.extendleft(
                Job(job.task, (slot,), (unit,), job.attempt + (not overdue))
                for slot, unit in zip(job.slots, job.units, strict=True)
            )
        elif overdue:
            reason = f"it did not finish within {self._client_timeout:g} seconds"
            return {job.slots[0]: Outcome(reason=reason)}
        elif job.attempt < _MAX_ATTEMPTS:
            queue.appendleft(replace(job, attempt=job.attempt + 1))
        else:
            return {job.slots[0]: Outcome(reason=f"its worker died twice, last {end}")}
        return {}

    def _count_start(self, worker: WorkerProcess, end: str) -> None:
        """Stop trying when workers end before they are ready again and again."""
        self._failed_starts += not worker.ready
        if self._failed_starts >= _MAX_FAILED_STARTS * len(self._workers):
            how = f"with {worker.trouble}" if worker.trouble else end
            raise FedmgdaError(
                f"Worker processes cannot start, the last one ended {how}; guard"
                " the main script with `if __name__ == '__main__':`, or set workers to 1."
            )

    def _replace(self, worker: WorkerProcess) -> None:
        if self._memory is not None:
            new = WorkerProcess(self._context, self._memory, self._settings)
            self._workers[self._workers.index(worker)] = new


def _pickled(settings: Settings) -> bytes:
    try:
        return bytes(ForkingPickler.dumps(settings))
    except Exception as error:
        raise ValueError(
            f"build_model cannot be sent to worker processes ({error}): use a function of a module"
            " or a functools.partial of one, or set workers to 1."
        ) from error
