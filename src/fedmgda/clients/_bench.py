"""What one process needs to do the work of any client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np
import torch

from fedmgda._random import Stream, generator
from fedmgda.clients._groups import Groups
from fedmgda.clients._local import full_gradient, local_sgd
from fedmgda.clients._objective import gather, score, score_each
from fedmgda.models import FlatModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from torch import nn

    from fedmgda._types import Indices, Vector
    from fedmgda.clients._objective import Block
    from fedmgda.clients._training import LocalTraining
    from fedmgda.data import FederatedData, Split

__all__ = [
    "Bench",
    "ComputePath",
    "Device",
    "Outcome",
    "ReportedLoss",
    "Settings",
    "Task",
    "explain",
]

Work: TypeAlias = Literal["train", "evaluate", "gradient"]
ReportedLoss: TypeAlias = Literal["before", "during"]
Device: TypeAlias = Literal["cpu", "cuda"]
ComputePath: TypeAlias = Literal["auto", "torch", "compiled"]
_REASON_LENGTH = 200


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every process must agree on to give the same numbers."""

    build_model: Callable[[], nn.Module]
    training: LocalTraining
    seed: int
    loss_factors: Mapping[int, float] = field(default_factory=dict)
    reported_loss: ReportedLoss = "before"
    channels_last: bool = False
    device: Device = "cpu"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked in one call of each unit: a client, or a group of clients if `grouped`.

    Attributes:
        work: What to do.
        split: On which examples to evaluate.
        round_num: The round of a training.
        grouped: Whether units are groups.
        known: The training loss f_i(w_t) of clients for whom it was just evaluated.
    """

    work: Work
    split: Split = "train"
    round_num: int = 0
    grouped: bool = False
    known: Mapping[int, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The numbers of one unit, or the reason why there are none (one short clause).

    Attributes:
        loss: What a client reports; of an evaluation, the mean loss.
        accuracy: The share of examples classified correctly, if it was measured.
        local_loss: The mean of the batch losses while training.
        scores: Of a group of m clients, of shape `(m, 2)`: loss and accuracy of each.
        reason: Why there are no numbers.
    """

    loss: float = float("nan")
    accuracy: float = float("nan")
    local_loss: float = float("nan")
    scores: NDArray[np.float64] | None = None
    reason: str | None = None


def explain(error: Exception) -> str:
    """Return the reason of an outcome whose work raised an error."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"its work raised {text[:_REASON_LENGTH]}"


@final
class Bench:
    """A model and the data of all clients: does one client's part of a task at a time.

    What it returns depends on the settings, the data, the task and the client alone, never on what
    the same bench did before. It reseeds torch's generator: the caller protects it.
    """

    def __init__(self, data: FederatedData, settings: Settings) -> None:
        with torch.random.fork_rng(devices=[]):
            module = settings.build_model()
        self.model = FlatModel(module, channels_last=settings.channels_last, device=settings.device)
        self._data = data
        self._settings = settings
        self._groups: dict[Split, Groups] = {}

    def groups(self, split: Split) -> Groups:
        """Return which clients are evaluated together on a split."""
        if split not in self._groups:
            self._groups[split] = Groups(self._data, split)
        return self._groups[split]

    def perform(self, task: Task, unit: int, params: Vector, row: Vector) -> Outcome:
        """Do a unit's part of the task; an error becomes the reason of the outcome.

        Args:
            task: What to do.
            unit: For whom: a client, or a group of clients if the task is `grouped`.
            params: Of shape `(d + num_buffers,)`, the model the client receives.
            row: Where the result goes: `(d + num_buffers,)` for the update, `(d,)` for the
                gradient; evaluation leaves it alone.
        """
        try:
            if task.grouped:
                return self._score(task.split, unit, params)
            return self._perform(task, unit, params, row)
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the others go on
            return Outcome(reason=explain(error))

    def _perform(self, task: Task, client_id: int, params: Vector, row: Vector) -> Outcome:
        block = self._gather(self._data.split(task.split)[client_id])
        if task.work != "evaluate" and not len(block):
            return Outcome(reason="it has no training examples")
        self.model.load(params)
        if task.work == "gradient":
            full_gradient(self.model, block)
            row[:] = self.model.grad_array
            return Outcome()
        if task.work == "evaluate":
            loss, accuracy = score(self.model.module, block)
            return Outcome(loss=loss, accuracy=accuracy)
        outcome = self._train(task, client_id, block)
        np.subtract(params, self.model.array, out=row)
        return outcome

    def _score(self, split: Split, group: int, params: Vector) -> Outcome:
        rows = [
            self._data.split(split)[client_id] for client_id in self.groups(split).members(group)
        ]
        block = self._gather(np.concatenate(rows))
        self.model.load(params)
        lengths = np.array([len(own) for own in rows], np.int64)
        return Outcome(scores=score_each(self.model.module, block, lengths))

    def _gather(self, rows: Indices) -> Block:
        block = gather(self._data, rows)
        return block.to(self._settings.device, channels_last=self.model.channels_last)

    def _train(self, task: Task, client_id: int, block: Block) -> Outcome:
        settings = self._settings
        factor = settings.loss_factors.get(client_id, 1.0)
        rng = generator(settings.seed, Stream.CLIENT, task.round_num, client_id)
        _seed(int(rng.integers(2**63)), settings.device)
        # The extra forward pass over the split costs a third of an epoch: only if it is asked for.
        before = None
        if settings.reported_loss == "before":
            before = task.known.get(client_id) or score(self.model.module, block)[0]
        local = local_sgd(self.model, block, settings.training, rng, loss_factor=factor)
        loss = local if before is None else before
        return Outcome(loss=factor * loss, local_loss=factor * local)


def _seed(draw: int, device: Device) -> None:
    """Seed the generators that dropout reads."""
    torch.default_generator.manual_seed(draw)
    if device == "cuda":
        torch.cuda.manual_seed(draw)
