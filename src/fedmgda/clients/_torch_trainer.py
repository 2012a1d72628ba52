"""One client's work through the torch module."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from fedmgda._random import Stream, generator
from fedmgda.clients._block import gather
from fedmgda.clients._local import full_gradient, local_sgd
from fedmgda.clients._objective import outputs_of, score
from fedmgda.clients._work import Outcome, explain
from fedmgda.models import FlatModel
from fedmgda.values import Predictions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedmgda._types import Indices, Matrix, Split, Vector
    from fedmgda.clients._block import Block
    from fedmgda.clients._settings import Device, Settings
    from fedmgda.clients._work import LocalWork, Scoring
    from fedmgda.data import FederatedData

__all__ = ["TorchTrainer", "one_thread"]


@final
class TorchTrainer:
    """A model and the data of all clients: does one client's part of a call at a time.

    What it returns depends on the settings, the data, the work and the client alone, never on what
    it did before. It reseeds torch's generator: the caller protects it.

    Attributes:
        model: The model it trains.
    """

    def __init__(self, data: FederatedData, settings: Settings) -> None:
        with torch.random.fork_rng(devices=[]):
            module = settings.build_model()
        self.model = FlatModel(module, channels_last=settings.channels_last, device=settings.device)
        self._data = data
        self._settings = settings

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
            params: Of shape `(d + num_buffers,)`, the model the client receives.
            known: f_i of that model, if it was measured before.
            to: Where update and gradient go, as `Rows.of` gives it.
        """
        try:
            block = self.block(self._data.train[client_id])
            return self.perform_on(block, work, client_id, params, known, to)
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the others go on
            return Outcome(reason=explain(error))

    def perform_on(
        self,
        block: Block,
        work: LocalWork,
        client_id: int,
        params: Vector,
        known: float | None,
        to: tuple[Vector, Vector],
    ) -> Outcome:
        """Do the work of a client that has these examples; errors are the caller's."""
        if not len(block):
            return Outcome(reason="it has no training examples")
        update, gradient = to
        self.model.load(params)
        seen = None
        if work.gradients:
            seen = full_gradient(self.model, block, self._settings.training.loss)
            gradient[:] = self.model.grad_array
        if work.round_num is None:
            return Outcome(before=seen)
        outcome = self._train(block, work, work.round_num, client_id, known)
        np.subtract(params, self.model.array, out=update)
        return outcome

    def _train(
        self, block: Block, work: LocalWork, round_num: int, client_id: int, known: float | None
    ) -> Outcome:
        settings = self._settings
        rng = generator(settings.seed, Stream.CLIENT, round_num, client_id)
        _seed(int(rng.integers(2**63)), settings.device)
        before = known
        # The extra forward pass over the split costs a third of an epoch: only if it is asked for.
        # It is the pass of an evaluation, so that f_i is the same number to the bit: some modules
        # take another way where they are differentiated, so the gradient's pass will not do.
        if before is None and (work.gradients or settings.reported_loss == "before"):
            before = score(self.model.module, block, settings.training.loss)[0]
        factor = settings.loss_factors.get(client_id, 1.0)
        local = local_sgd(
            self.model, block, settings.training, rng, round_num=round_num, loss_factor=factor
        )
        return Outcome.of_training(settings, factor, local, before)

    def score(self, scoring: Scoring, client_id: int, models: Matrix) -> Outcome:
        """Score models, of shape `(k, d + num_buffers)`, for a client.

        Its examples are a batch of their own, since the last bit of an output can depend on the
        batch it is computed in, and a place may hold all clients or this one alone.
        """
        try:
            block = self.block(self._data.split(scoring.split)[client_id])
            return Outcome(scores=np.array(list(self._scores(block, models))))
        except Exception as error:  # noqa: BLE001 - as above
            return Outcome(reason=explain(error))

    def _scores(self, block: Block, models: Matrix) -> Iterator[tuple[float, float]]:
        for params in models:
            self.model.load(params)
            yield score(self.model.module, block, self._settings.training.loss)

    def predict(self, params: Vector, client_ids: Sequence[int], split: Split) -> Predictions:
        """Return what a model gives for each example of some clients, each a batch of its own."""
        rows = [np.asarray(self._data.split(split)[i], np.int64) for i in client_ids]
        with one_thread():
            self.model.load(params)
            outputs = [
                outputs_of(self.model.module, self.block(mine)) for mine in rows if len(mine)
            ]
        all_rows = np.concatenate([np.empty(0, np.int64), *rows])
        return Predictions(
            rows=all_rows,
            clients=np.repeat(np.array(client_ids, np.int64), [len(mine) for mine in rows]),
            targets=np.asarray(self._data.targets[all_rows]),
            outputs=np.concatenate(outputs or [np.empty((0, 0), np.float32)]),
        )

    def block(self, rows: Indices) -> Block:
        """Return examples as the model takes them."""
        block = gather(self._data, rows)
        return block.to(self._settings.device, channels_last=self.model.channels_last)


def _seed(draw: int, device: Device) -> None:
    """Seed the generators that dropout reads."""
    torch.default_generator.manual_seed(draw)
    if device == "cuda":
        torch.cuda.manual_seed(draw)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, as worker processes do, and restore the setting."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
