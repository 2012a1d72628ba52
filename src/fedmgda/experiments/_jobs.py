"""Several runs at once, each in a process of its own."""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import FedmgdaError
from fedmgda._parent import leave_with_parent
from fedmgda.experiments._run import execute
from fedmgda.experiments._signals import Interrupted, interruptible
from fedmgda.experiments._store import RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["JobState", "run_jobs"]

_PATIENCE = 30.0  # seconds a run gets to write its checkpoint after it was asked to stop


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """News of one run: so many of its rounds done, or why it ended early."""

    index: int
    round_num: int = 0
    rounds: int = 0
    finished: bool = False
    error: str | None = None
    exit_code: int = 0
    notes: tuple[str, ...] = ()


def run_jobs(paths: Sequence[Path], jobs: int) -> Iterator[JobState]:
    """Carry every run to its end, `jobs` at a time; one that fails does not stop the others.

    Raises:
        Interrupted: After SIGINT or SIGTERM; all runs have been told, and can be resumed.
    """
    if jobs == 1:
        for index, path in enumerate(paths):
            yield from _states(index, path)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fedmgda.experiments._jobs", "fedmgda.clients"])
    waiting, running = list(enumerate(paths)), dict[Connection, _Job]()
    with interruptible():
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    index, path = waiting.pop(0)
                    ours, theirs = context.Pipe(duplex=False)
                    process = context.Process(target=_work, args=(theirs, index, path))
                    process.start()
                    theirs.close()
                    running[ours] = _Job(index, process)
                yield from _news(running)
        finally:
            _stop([job.process for job in running.values()])


@dataclass(slots=True)
class _Job:
    """A run in a process of its own, and whether it has said how it ended."""

    index: int
    process: Any
    ended: bool = False


def _news(running: dict[Connection, _Job]) -> Iterator[JobState]:
    """Read what the runs have to say, and let go of those that are done."""
    for connection in wait(list(running), timeout=1.0):
        assert isinstance(connection, Connection)  # noqa: S101 (only pipes were waited for)
        job = running[connection]
        try:
            state = connection.recv()
        except EOFError:
            del running[connection]
            connection.close()
            job.process.join()
            if not job.ended:
                how = f"Its process ended with code {job.process.exitcode} before the run did."
                yield JobState(index=job.index, error=how, exit_code=1)
        else:
            job.ended = state.finished or state.error is not None
            yield state


def _work(connection: Connection, index: int, path: Path) -> None:
    leave_with_parent()  # a run that nobody waits for would keep its folder locked
    # A closed pipe means that nobody is waiting any more; a signal, that it is time to go.
    with suppress(BrokenPipeError, Interrupted):
        for state in _states(index, path):
            connection.send(state)


def _states(index: int, path: Path) -> Iterator[JobState]:
    try:
        for progress in execute(RunFolder.open(path)):
            done, rounds = progress.round_num, progress.rounds
            yield JobState(index=index, round_num=done, rounds=rounds, notes=progress.notes)
        yield JobState(index=index, finished=True)
    except FedmgdaError as error:
        yield JobState(index=index, error=str(error), exit_code=error.exit_code)
    except Exception as error:  # noqa: BLE001 (a fault in one run must not stop the others)
        yield JobState(index=index, error=f"{type(error).__name__}: {error}", exit_code=1)
    except Interrupted as stop:
        if multiprocessing.parent_process() is None:
            raise
        yield JobState(index=index, error=str(stop), exit_code=stop.exit_code)


def _stop(processes: list[Any]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
