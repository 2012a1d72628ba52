"""Worker processes that share the clients of a call."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._errors import FedmgdaError
from fedmgda.clients._process import Job, WorkerProcess, process_context
from fedmgda.clients._shared import SharedArray, SharedData
from fedmgda.clients._work import Outcome, Scoring, scores_of
from fedmgda.clients._worker import Call, SharedMemory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.clients._settings import Settings
    from fedmgda.clients._torch_trainer import TorchTrainer
    from fedmgda.clients._work import LocalWork, Rows, Scores
    from fedmgda.data import FederatedData

__all__ = ["WorkerProcesses"]

_MAX_ATTEMPTS = 2
_MAX_FAILED_STARTS = 2  # in a row, for each worker
_DYING_SECONDS = 2.0


@final
class WorkerProcesses:
    """Gives each free worker the largest client that is left; replaces workers that die.

    A client whose worker dies is tried once more, one that exceeds its time is not: its worker is
    ended. Who did what never shows in the results.
    """

    def __init__(
        self,
        data: FederatedData,
        settings: Settings,
        trainer: TorchTrainer,
        workers: int,
        client_timeout: float,
    ) -> None:
        self._data = data
        self._client_timeout = client_timeout
        self._settings = _pickled(settings)
        self._context = process_context()
        width = trainer.model.num_params + trainer.model.num_buffers
        self._memory: SharedMemory | None = SharedMemory(
            data=SharedData.of(data),
            models=SharedArray((1, width), "float32"),
            updates=SharedArray((0, width), "float32"),
            gradients=SharedArray((0, trainer.model.num_params), "float32"),
        )
        self._failed_starts = 0
        self._workers: list[WorkerProcess] = []
        try:
            for _ in range(workers):
                worker = WorkerProcess(self._context, self._memory, self._settings)
                self._workers.append(worker)
        except BaseException:
            self.close()
            raise

    def run(
        self,
        work: LocalWork,
        params: Vector,
        client_ids: Sequence[int],
        known: Mapping[int, float],
        rows: Rows,
    ) -> list[Outcome]:
        """Do the work for the clients, largest first, and copy what they wrote."""
        shared = self._open().rows(work, len(client_ids))
        sizes = [len(self._data.train[client_id]) for client_id in client_ids]
        jobs = [
            replace(job, known={i: known[i] for i in job.units if i in known})
            for job in _jobs(Call(work), client_ids, sizes, 1)
        ]
        outcomes = self._share_out(jobs, params[None])
        np.copyto(rows.updates, shared.updates)
        np.copyto(rows.gradients, shared.gradients)
        return outcomes

    def evaluate(self, models: Matrix, client_ids: Sequence[int], split: Split) -> Scores:
        """Score the models, some clients at a time."""
        self._open()
        call = Call(Scoring(split=split), len(models))
        sizes = [len(self._data.split(split)[client_id]) for client_id in client_ids]
        # A score is over so soon that a message for each client would cost more.
        per_job = max(1, len(client_ids) // (4 * len(self._workers)))
        jobs = _jobs(call, client_ids, sizes, per_job)
        outcomes = self._share_out(jobs, models)
        return scores_of(client_ids, outcomes, len(models))

    def close(self) -> None:
        """End all workers and let go of the shared memory."""
        for worker in self._workers:
            worker.end()
        for worker in self._workers:
            worker.join()
        self._workers = []
        self._memory = None

    def _open(self) -> SharedMemory:
        if self._memory is None:
            raise ValueError("The pool is closed; make a new one.")
        return self._memory

    def _share_out(self, jobs: Sequence[Job], models: Matrix) -> list[Outcome]:
        """Let the workers do the jobs; return the outcomes in the order of the slots."""
        self._open().models.reserve(len(models))[:] = models
        queue, outcomes = deque(jobs), dict[int, Outcome]()
        num_slots = sum(len(job.slots) for job in jobs)
        try:
            while len(outcomes) < num_slots:
                for worker in [worker for worker in self._workers if worker.idle][: len(queue)]:
                    job = queue.popleft()
                    worker.assign(job, self._client_timeout * len(job.slots) * len(models))
                for worker in self._wait():
                    outcomes.update(self._receive(worker, queue))
        except BaseException:
            # A worker left at its job would write into the rows of a later call.
            for worker in [worker for worker in self._workers if worker.job]:
                worker.end()
                self._replace(worker)
            raise
        return [outcomes[slot] for slot in range(num_slots)]

    def _wait(self) -> list[WorkerProcess]:
        """Return the workers that have something to say, are gone, or are overdue."""
        deadline = min(worker.deadline for worker in self._workers if not worker.idle)
        pipes = [worker.pipe for worker in self._workers]
        readable = set(connection.wait(pipes, max(0.0, deadline - time.monotonic())))
        return [worker for worker in self._workers if worker.pipe in readable or worker.overdue]

    def _receive(self, worker: WorkerProcess, queue: deque[Job]) -> Mapping[int, Outcome]:
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
                replace(job, slots=(slot,), units=(unit,), attempt=job.attempt + (not overdue))
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


def _jobs(call: Call, units: Sequence[int], sizes: Sequence[int], per_job: int) -> list[Job]:
    """Return the jobs of a call, largest first, so that no large client is left for the end."""
    order = sorted(range(len(units)), key=lambda slot: -sizes[slot])
    parts = [tuple(order[start : start + per_job]) for start in range(0, len(order), per_job)]
    return [Job(call, part, tuple(units[slot] for slot in part)) for part in parts]


def _pickled(settings: Settings) -> bytes:
    training = settings.training
    for name, function in (
        ("build_model", settings.build_model),
        ("loss", training.loss),
        ("optimizer", training.optimizer),
    ):
        try:
            ForkingPickler.dumps(function)
        except Exception as error:
            raise ValueError(
                f"{name} cannot be sent to worker processes ({error}): use a function of a module"
                " or a functools.partial of one, or set workers to 1."
            ) from error
    return bytes(ForkingPickler.dumps(settings))
