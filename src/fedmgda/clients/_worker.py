"""A worker process, seen from inside."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import torch

from fedmgda._parent import leave_with_parent
from fedmgda.clients._torch_trainer import TorchTrainer
from fedmgda.clients._work import LocalWork, Outcome, Rows, Scoring

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from fedmgda.clients._shared import SharedArray, SharedData

__all__ = ["Call", "Message", "SharedMemory", "serve"]


@final
@dataclass(frozen=True, slots=True)
class SharedMemory:
    """What all processes see: the data, the models of the call, and the rows of the results."""

    data: SharedData
    models: SharedArray
    updates: SharedArray
    gradients: SharedArray

    def rows(self, work: LocalWork, num_rows: int) -> Rows:
        """Return where the clients of a call write to."""
        nothing = np.empty((num_rows, 0), np.float32)
        return Rows(
            nothing if work.round_num is None else self.updates.reserve(num_rows),
            self.gradients.reserve(num_rows) if work.gradients else nothing,
        )


@final
@dataclass(frozen=True, slots=True)
class Call:
    """What all jobs of one call share: the work, and how many models it is about."""

    work: LocalWork | Scoring
    num_models: int = 1


Message: TypeAlias = "tuple[Call | None, tuple[int, ...], tuple[int, ...], Mapping[int, float]]"
"""To a worker: the call if it is a new one, the rows to write to, for whom, and known losses.

There is one for every client of a round, so that it holds nothing but what is that client's own.
"""


def serve(pipe: Connection[Any, Any], memory: SharedMemory) -> None:
    """Do jobs until the other end of the pipe is closed.

    The first message received is the settings; the first one sent is empty, or the reason why this
    worker cannot work.
    """
    # Ctrl-C reaches every process of the terminal; what it means is for the main one to decide.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_with_parent()
    torch.set_num_threads(1)
    try:
        _serve(pipe, memory)
    except (EOFError, OSError):
        os._exit(0)


def _serve(pipe: Connection[Any, Any], memory: SharedMemory) -> None:
    try:
        trainer = TorchTrainer(memory.data.open(), pipe.recv())
    except Exception as error:  # noqa: BLE001 - the main process turns it into a sentence
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send("")
    call: Call | None = None
    while True:
        message: Message = pipe.recv()
        call = message[0] or call
        if call is None:
            raise EOFError("a job without a call")
        pipe.send(_answer(trainer, memory, call, message))


def _answer(
    trainer: TorchTrainer, memory: SharedMemory, call: Call, message: Message
) -> list[Outcome]:
    _, slots, units, known = message
    models = memory.models.reserve(call.num_models)
    if isinstance(call.work, Scoring):
        return [trainer.score(call.work, unit, models) for unit in units]
    rows = memory.rows(call.work, max(slots) + 1)
    return [
        trainer.perform(call.work, unit, models[0], known.get(unit), rows.of(slot))
        for slot, unit in zip(slots, units, strict=True)
    ]
