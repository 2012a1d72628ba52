"""A worker process, seen from outside."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from fedmgda.clients._worker import serve

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.context import ForkServerContext, SpawnContext

    from fedmgda.clients._work import Outcome
    from fedmgda.clients._worker import Call, Message, SharedMemory

__all__ = ["Job", "WorkerProcess", "process_context"]

_START_SECONDS = 120.0
_END_SECONDS = 10.0
_DESCRIPTORS = 16  # of a start, with the server that forks, and a few that others open meanwhile
_STARTING = threading.Lock()


def process_context() -> ForkServerContext | SpawnContext:
    """Return how workers are started: forked from a server that has imported torch once."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fedmgda.clients._worker"])
    return context


@final
@dataclass(frozen=True, slots=True)
class Job:
    """A part of a call that one worker does: for these clients (or groups), into these rows."""

    call: Call
    slots: tuple[int, ...]
    units: tuple[int, ...]
    known: Mapping[int, float] = field(default_factory=dict)
    attempt: int = 1


@final
class WorkerProcess:
    """One process, the pipe to it, and what it is doing.

    Starting takes seconds, so it happens in a thread; until the worker has said that it is ready
    it counts as busy. All waiting is left to the owner, who watches `pipe` and `deadline`.

    Attributes:
        pipe: Readable when the worker has something to say or is gone.
        ready: Whether it has started.
        job: What it was asked to do and has not answered.
        deadline: The time on the monotonic clock at which the owner loses patience.
        trouble: Why the process could not be started, if so.
    """

    def __init__(
        self, context: ForkServerContext | SpawnContext, memory: SharedMemory, settings: bytes
    ) -> None:
        self.pipe, self._far_end = context.Pipe()
        self._process = context.Process(
            target=serve, args=(self._far_end, memory), daemon=True, name="fedmgda-worker"
        )
        self.ready = False
        self.job: Job | None = None
        self.deadline = time.monotonic() + _START_SECONDS
        self.trouble = ""
        self._call: Call | None = None
        self._lock = threading.Lock()
        self._started = self._ended = False
        self._starter = threading.Thread(target=self._start, args=(settings,), daemon=True)
        self._starter.start()

    def _start(self, settings: bytes) -> None:
        try:
            with _STARTING:
                _refuse_too_few_descriptors()
                self._process.start()
            self.pipe.send_bytes(settings)
        except Exception as error:  # noqa: BLE001 - the owner turns it into a sentence
            self.trouble = f"{type(error).__name__}: {error}"
        with self._lock:
            self._started, ended = True, self._ended
        # With only the worker holding the far end, its death is the end of the pipe.
        self._far_end.close()
        if ended:
            self._kill()

    @property
    def idle(self) -> bool:
        """Whether it can be given a job."""
        return self.ready and self.job is None

    @property
    def overdue(self) -> bool:
        """Whether it should have been heard of by now."""
        return not self.idle and time.monotonic() > self.deadline

    def assign(self, job: Job, seconds: float) -> None:
        """Send a job, to be answered within the given seconds."""
        self.job, self.deadline = job, time.monotonic() + seconds
        # What the jobs of a call share is sent once, not 10,000 times.
        call = None if job.call is self._call else job.call
        message: Message = (call, job.slots, job.units, job.known)
        self._call = job.call
        try:
            self.pipe.send(message)
        except OSError:
            return  # it has died: its end of the pipe says so at the next wait

    def receive(self) -> dict[int, Outcome]:
        """Return the outcomes it has sent, by slot; raise EOFError or OSError if it is gone."""
        message = self.pipe.recv()
        if self.job is None:
            self.trouble, self.ready = message, not message
            if self.trouble:
                raise EOFError(self.trouble)
            return {}
        job, self.job = self.job, None
        return dict(zip(job.slots, message, strict=True))

    def end(self, *, patience: float = 0.0) -> str:
        """End the process and return how it ended.

        Args:
            patience: Seconds to wait for a process that is dying by itself: it closes its pipe a
                moment before its exit code can be read.
        """
        if self.ready:
            self._starter.join(_END_SECONDS)  # it may have a few lines left to run
        with self._lock:
            self._ended, started = True, self._started
        return self._kill(patience) if started else "while it was starting"

    def join(self) -> None:
        """Wait until one that was ended while it was starting is gone.

        A process that is started while the interpreter comes to its end spoils that end.
        """
        self._starter.join(_END_SECONDS)

    def _kill(self, patience: float = 0.0) -> str:
        self.pipe.close()
        if self._process.pid is None:
            return "at its start"
        self._process.join(patience)
        self._process.kill()
        self._process.join(_END_SECONDS)
        code = self._process.exitcode
        return f"with signal {-code}" if code is not None and code < 0 else f"with code {code}"


def _refuse_too_few_descriptors() -> None:
    """Fail before a start that would run out of them in its middle.

    The server that forks dies of half a message, with a traceback of its own.
    """
    spare: list[int] = []
    try:
        for _ in range(_DESCRIPTORS):
            spare.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401 (what was opened is closed)
    finally:
        for descriptor in spare:
            os.close(descriptor)
