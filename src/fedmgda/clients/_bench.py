"""What one process needs to do the work of any client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np
import torch

from fedmgda._random import Stream, generator
from fedmgda.clients._local import full_gradient, local_sgd
from fedmgda.clients._objective import gather, score
from fedmgda.models import FlatModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

    from fedmgda._types import Vector
    from fedmgda.clients._training import LocalTraining
    from fedmgda.data import FederatedData, Split

__all__ = ["Bench", "Outcome", "Settings", "Task"]

Work: TypeAlias = Literal["train", "evaluate", "gradient"]
_REASON_LENGTH = 200


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every process must agree on to give the same numbers."""

    build_model: Callable[[], nn.Module]
    training: LocalTraining
    seed: int
    loss_factors: Mapping[int, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked of all clients of one call."""

    work: Work
    split: Split = "train"
    round_num: int = 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The numbers of one client, or the reason why there are none (one short clause)."""

    loss: float = float("nan")
    accuracy: float = float("nan")
    reason: str | None = None


@final
class Bench:
    """A model and the data of all clients: does one client's part of a task at a time.

    What it returns depends on the settings, the data, the task and the client alone, never on what
    the same bench did before. It reseeds torch's generator: the caller protects it.
    """

    def __init__(self, data: FederatedData, settings: Settings) -> None:
        with torch.random.fork_rng(devices=[]):
            self.model = FlatModel(settings.build_model())
        self._data = data
        self._settings = settings

    def perform(self, task: Task, client_id: int, params: Vector, row: Vector) -> Outcome:
        """Do a client's part of the task; an error becomes the reason of the outcome.

        Args:
            task: What to do.
            client_id: For whom.
            params: Of shape `(d + num_buffers,)`, the model the client receives.
            row: Where the result goes: `(d + num_buffers,)` for the update, `(d,)` for the
                gradient; evaluation leaves it alone.
        """
        try:
            return self._perform(task, client_id, params, row)
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the others go on
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return Outcome(reason=f"its work raised {text[:_REASON_LENGTH]}")

    def _perform(self, task: Task, client_id: int, params: Vector, row: Vector) -> Outcome:
        block = gather(self._data, self._data.split(task.split)[client_id])
        if task.work != "evaluate" and not len(block):
            return Outcome(reason="it has no training examples")
        self.model.load(params)
        if task.work == "gradient":
            full_gradient(self.model, block)
            row[:] = self.model.grad.numpy()
            return Outcome()
        loss, accuracy = score(self.model.module, block)
        if task.work == "evaluate":
            return Outcome(loss=loss, accuracy=accuracy)
        settings = self._settings
        factor = settings.loss_factors.get(client_id, 1.0)
        rng = generator(settings.seed, Stream.CLIENT, task.round_num, client_id)
        torch.default_generator.manual_seed(int(rng.integers(2**63)))
        local_sgd(self.model, block, settings.training, rng, loss_factor=factor)
        np.subtract(params, self.model.array, out=row)
        return Outcome(loss=factor * loss, accuracy=accuracy)
