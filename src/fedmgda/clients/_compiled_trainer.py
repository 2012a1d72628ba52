"""One client's work through the compiled kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.clients._block import gather
from fedmgda.clients._kernel_data import KernelData, fits_kernels
from fedmgda.clients._objective import score as score_by_torch
from fedmgda.clients._work import Outcome, explain
from fedmgda.kernels import score, train, translate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Matrix, Split, Vector
    from fedmgda.clients._settings import Settings
    from fedmgda.clients._work import LocalWork, Scores
    from fedmgda.data import FederatedData
    from fedmgda.kernels import Program
    from fedmgda.models import FlatModel

__all__ = ["CompiledTrainer", "compile_trainer"]


def compile_trainer(
    data: FederatedData, settings: Settings, model: FlatModel, *, always: bool
) -> CompiledTrainer | None:
    """Return a trainer that needs no torch, or None if model or data are not made for one.

    Args:
        data: The examples of all clients.
        settings: What every trainer must agree on.
        model: The model, in its initial state.
        always: Whether it is wanted even where torch is faster.
    """
    program = translate(model.module, data.features.shape[1:])
    if program is None or not fits_kernels(data, int(program.layers[-1]["features"])):
        return None
    batch_size = settings.training.batch_size or max(len(rows) for rows in data.train)
    if not always and not program.beats_torch(batch_size):
        return None
    trainer = CompiledTrainer(data, settings, program)
    return trainer if trainer.agrees_with(model) else None


@final
class CompiledTrainer:
    """What `TorchTrainer` does, for models the kernels can run; any number of threads may share it.

    The batches are the same, and so are the numbers up to rounding; dropout flips other coins. What
    it returns depends on the settings, the data, the work and the client alone.
    """

    def __init__(self, data: FederatedData, settings: Settings, program: Program) -> None:
        self._data, self._settings, self._program = data, settings, program
        self._examples = KernelData(data, program.planes)

    def agrees_with(self, model: FlatModel) -> bool:
        """Whether kernels and module give a few examples the same loss."""
        rows = np.arange(min(4, len(self._data.targets)))
        ours = self._scores(self._program.arrange(model.array), [rows])[0, 0]
        block = gather(self._data, rows).to("cpu", channels_last=model.channels_last)
        theirs = score_by_torch(model.module, block)[0]
        return math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-6)

    def perform(
        self,
        work: LocalWork,
        client_id: int,
        params: Vector,
        known: float | None,
        to: tuple[Vector, Vector],
    ) -> Outcome:
        """Do a client's part of the work; an error becomes the reason of the outcome.

        Args:
            work: What to do.
            client_id: For whom.
            params: Of shape `(d,)`, the model the client receives.
            known: f_i of that model, if it was measured before.
            to: Where update and gradient go, as `Rows.of` gives it.
        """
        try:
            rows = self._examples.checked(self._data.train[client_id])
            if not len(rows):
                return Outcome(reason="it has no training examples")
            before = known
            if work.gradients:
                # The losses are summed as in a score, so that f_i is the same number to the bit.
                before = self._gradient(params, rows, to[1])
            if work.round_num is None:
                return Outcome(before=before)
            return self._train(work.round_num, client_id, params, rows, before, to[0])
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the others go on
            return Outcome(reason=explain(error))

    def evaluate(self, models: Matrix, client_ids: Sequence[int], split: Split) -> Scores:
        """Score k models for several clients on one split: the others go on if one fails."""
        try:
            rows = [self._data.split(split)[client_id] for client_id in client_ids]
            arranged = (self._program.arrange(params) for params in models)
            return np.stack([self._scores(each, rows) for each in arranged]), {}
        except Exception as error:  # noqa: BLE001 - as above
            if len(client_ids) == 1:
                return np.full((len(models), 1, 2), np.nan), {client_ids[0]: explain(error)}
        alone = [self.evaluate(models, (client_id,), split) for client_id in client_ids]
        reasons = {client_id: why for _, some in alone for client_id, why in some.items()}
        return np.concatenate([scores for scores, _ in alone], axis=1), reasons

    def _scores(self, arranged: Vector, rows: Sequence[Indices]) -> Matrix:
        """Return loss and accuracy of users that have these rows, of shape `(users, 2)`."""
        ends = np.cumsum([len(some) for some in rows])
        all_rows = self._examples.checked(np.concatenate(rows))
        layers = self._program.layers
        scores = score(layers, arranged, *self._examples.arrays, all_rows, ends, False)
        if not self._examples.classifies:
            scores[:, 1] = np.nan
        return scores

    def _gradient(self, params: Vector, rows: Indices, gradient: Vector) -> float:
        """Write the gradient of the mean loss, in eval mode, and return that loss."""
        arranged = self._program.arrange(params)
        grad = np.empty_like(arranged)
        # One step of length zero, over one batch of everything.
        step = (0.0, 0.0, 0.0, 1.0)
        loss = self._sgd(arranged, grad, rows[None], len(rows), step, False, _noise(0))
        gradient[:] = grad[self._program.positions]
        return loss

    def _train(
        self,
        round_num: int,
        client_id: int,
        params: Vector,
        rows: Indices,
        before: float | None,
        update: Vector,
    ) -> Outcome:
        settings, training = self._settings, self._settings.training
        arranged = self._program.arrange(params)
        if before is None and settings.reported_loss == "before":
            before = self._scores(arranged, [rows])[0, 0]
        rng = generator(settings.seed, Stream.CLIENT, round_num, client_id)
        noise = _noise(int(rng.integers(2**63)))
        size = min(training.batch_size or len(rows), len(rows))
        epochs = np.stack(
            [
                # One batch of everything is the same batch in any order.
                rows if size == len(rows) else rows[rng.permutation(len(rows))]
                for _ in range(training.local_epochs)
            ]
        )
        factor = settings.loss_factors.get(client_id, 1.0)
        client_lr = training.client_lr_at(round_num)
        step = (client_lr, training.momentum, training.prox_slope, factor)
        local = self._sgd(arranged, np.empty_like(arranged), epochs, size, step, True, noise)
        np.subtract(params, arranged[self._program.positions], out=update)
        return Outcome.of_training(settings, factor, local, before)

    def _sgd(  # noqa: PLR0913, PLR0917 - what the kernel takes, apart from model and data
        self,
        arranged: Vector,
        grad: Vector,
        epochs: NDArray[Any],
        size: int,
        step: tuple[float, float, float, float],
        dropout: bool,
        noise: NDArray[Any],
    ) -> float:
        arrays, epochs = self._examples.for_epochs(epochs)
        layers = self._program.layers
        return train(layers, arranged, grad, *arrays, epochs, size, *step, dropout, noise)


def _noise(seed: int) -> NDArray[np.uint64]:
    return np.array([seed], np.uint64)
