"""A worker process, seen from inside."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import torch

from fedmgda.clients._bench import Bench, Outcome, Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from fedmgda.clients._shared import SharedArray
    from fedmgda.clients._shared_data import SharedData

__all__ = ["Job", "SharedMemory", "serve"]


@final
@dataclass(frozen=True, slots=True)
class SharedMemory:
    """What all processes see: the data, the model of the call, and the rows of the results."""

    data: SharedData
    params: SharedArray
    rows: dict[str, SharedArray]


@final
@dataclass(frozen=True, slots=True)
class Job:
    """One message to a worker: do a task for these units, and write to these rows."""

    task: Task
    slots: tuple[int, ...]
    units: tuple[int, ...]
    attempt: int = 1


def serve(pipe: Connection[Any, Any], memory: SharedMemory) -> None:
    """Do jobs until the other end of the pipe is closed.

    The first message received is the settings; the first one sent is empty, or the reason why this
    worker cannot work.
    """
    # Ctrl-C reaches every process of the terminal; what it means is for the main one to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    try:
        _serve(pipe, memory)
    except (EOFError, OSError):
        os._exit(0)


def _serve(pipe: Connection[Any, Any], memory: SharedMemory) -> None:
    try:
        bench = Bench(memory.data.open(), pipe.recv())
    except Exception as error:  # noqa: BLE001 - the main process turns it into a sentence
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send("")
    while True:
        pipe.send(_perform(bench, memory, pipe.recv()))


def _perform(bench: Bench, memory: SharedMemory, job: Job) -> list[Outcome]:
    rows = memory.rows[job.task.work].reserve(max(job.slots) + 1)
    return [
        bench.perform(job.task, unit, memory.params.array, rows[slot])
        for slot, unit in zip(job.slots, job.units, strict=True)
    ]


def _leave_with_parent() -> None:
    """End this process when the main one has ended, even in the middle of a client's work."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
