"""The clients as the federation sees them, all in this process or its workers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self, final

import numpy as np

from fedmgda.clients._block import gather
from fedmgda.clients._engine import choose_engine
from fedmgda.clients._settings import Settings
from fedmgda.clients._torch_trainer import TorchTrainer
from fedmgda.clients._work import LocalWork, Rows, cohort_of
from fedmgda.data import data_facts
from fedmgda.models import initial_vector, layout_of, takes_channels_last
from fedmgda.values import Evaluation, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from torch import nn

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.clients._engine import ComputePath
    from fedmgda.clients._settings import Device, ReportedLoss
    from fedmgda.clients._training import LocalTraining
    from fedmgda.data import FederatedData
    from fedmgda.values import ClientFacts, Clients, Cohort

__all__ = ["ClientPool"]


@final
class ClientPool:
    """Trains and evaluates clients, in this process or in worker processes.

    Every number is a function of the data, the settings, the model, the round and the client: the
    number of workers, the order of the clients and a worker that had to be replaced change no bit.
    Arrays it returns are never written to again. Use it as a context manager, or call `close`.

    Attributes:
        num_clients: n; ids go from 0 to n - 1.
        num_params: d, the number of parameters of the model.
        num_buffers: The entries of its float buffers, which follow the parameters in the vector.
        path: What computes: "compiled" or "torch".
        client_names: What the clients are called, where they have names.
        models_at_once: 1: asking once more costs nothing here.
    """

    num_clients: int
    num_params: int
    num_buffers: int
    path: str
    client_names: tuple[str, ...] | None
    models_at_once: int = 1

    def __init__(  # noqa: PLR0913 - the one place where everything a client needs comes together
        self,
        *,
        data: FederatedData,
        build_model: Callable[[], nn.Module],
        training: LocalTraining,
        seed: int,
        workers: int = 1,
        loss_factors: Mapping[int, float] | None = None,
        client_timeout: float = 600.0,
        reported_loss: ReportedLoss = "before",
        path: ComputePath = "auto",
        device: Device = "cpu",
    ) -> None:
        """Prepare the clients; worker processes start in the background.

        Args:
            data: The examples of all clients.
            build_model: Returns a new module; with several workers it must be picklable.
            training: The hyper-parameters of local SGD.
            seed: The seed of the experiment.
            workers: 1 computes in this process, more are that many processes of one thread each;
                on the compiled path, threads.
            loss_factors: Clients whose training objective and reported loss are multiplied by a
                factor (the scaling attack, SPEC 2). Gradients, `before` and `evaluate` stay
                truthful.
            client_timeout: Seconds after which a client in a worker process is given up.
            reported_loss: "before" reports f_i(w_t), for which every client passes over its split
                once more; "during" reports the mean of the batch losses while training.
            path: "compiled" computes with the kernels for small networks, "torch" with the module
                itself, and "auto" with the kernels where they know the model and are faster. The
                numbers agree up to rounding; dropout flips other coins. A loss or an optimiser of
                the user's own needs torch.
            device: Where torch computes. A GPU does not promise the same bits every time.
        """
        self._data = data
        self.num_clients, self.client_names = data.num_clients, data.client_names
        self._check_ids(loss_factors or ())
        # Enough examples to see whether a module takes them.
        shown = gather(data, np.arange(min(2, len(data.targets)))).features
        self._settings = Settings(
            build_model=build_model,
            training=training,
            seed=seed,
            loss_factors=dict(loss_factors or {}),
            reported_loss=reported_loss,
            # Decided once: every process must compute in the same format.
            channels_last=takes_channels_last(build_model, shown),
            device=device,
        )
        self._trainer = TorchTrainer(data, self._settings)
        self.num_params = self._trainer.model.num_params
        self.num_buffers = self._trainer.model.num_buffers
        self.path, self._engine = choose_engine(
            data,
            self._settings,
            self._trainer,
            path=path,
            workers=workers,
            client_timeout=client_timeout,
        )

    @cached_property
    def facts(self) -> ClientFacts:
        """What a server may know of the data: sizes, rows and a fingerprint; computed once."""
        return data_facts(self._data, layout_of(self._settings.build_model))

    def initial_params(self) -> Vector:
        """Return the initial model of the seed, of shape `(d + num_buffers,)`, float32."""
        return initial_vector(self._settings.build_model, self._settings.seed)

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train the model on its own data.

        Args:
            params: Of shape `(d + num_buffers,)`, w_t and the float buffers.
            client_ids: The m clients of the round.
            round_num: The round, 1 for the first: with seed and client it fixes all randomness.
            gradients: Whether each also returns ∇f_i(w_t) and f_i(w_t), in eval mode.
            known: Losses that `evaluate` gave for this very model on the training split: those
                clients are spared a pass over it.

        Returns:
            The clients that finished, in the given order; the others are in `failures`.
        """
        work = LocalWork(round_num=round_num, gradients=gradients)
        return self._run(work, params, client_ids, known or {})

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort:
        """Return the gradients of the clients' mean training losses, in eval mode.

        Returns:
            Of the clients that could be differentiated, with the gradients as `updates` and the
            losses of the same pass as `losses`; the others are in `failures`.
        """
        return self._run(LocalWork(gradients=True), params, client_ids, {})

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Return loss and accuracy of one model, or of k, for each client on one split.

        On the training split the loss is, to the bit, the one `train_cohort` reports as "before".
        The accuracy is the share of examples whose largest score is that of their class; NaN for a
        regression, and where a loss of the user's own goes with outputs that are no class scores.

        Args:
            params: Of shape `(d + num_buffers,)`, or `(k, d + num_buffers)`.
            client_ids: The m clients.
            split: On which examples.
            predictions: Whether what the module gives for each example is returned too, for the
                clients that could be evaluated. One model only.
        """
        ids, models = self._checked(params, client_ids)
        if predictions and params.ndim != 1:
            raise ValueError(f"predictions are of one model, got params of shape {params.shape}.")
        scores, reasons = self._engine.evaluate(models, ids, split)
        scores = scores if params.ndim == 2 else scores[0]
        told = None
        if predictions:
            told = self._trainer.predict(models[0], [i for i in ids if i not in reasons], split)
        sizes = [len(self._data.split(split)[i]) for i in ids]
        return Evaluation(
            client_ids=ids,
            losses=scores[..., 0],
            accuracies=scores[..., 1],
            num_examples=np.array(sizes, dtype=np.float64),
            failures=tuple(Failure(client_id=i, reason=why) for i, why in reasons.items()),
            predictions=told,
        )

    def close(self) -> None:
        """End the worker processes. Arrays already returned stay valid."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(
        self,
        work: LocalWork,
        params: Vector,
        client_ids: Sequence[int],
        known: Mapping[int, float],
    ) -> Cohort:
        ids, models = self._checked(params, client_ids, dimensions=(1,))
        rows = Rows.for_work(work, len(ids), self.num_params, self.num_buffers)
        outcomes = self._engine.run(work, models[0], ids, known, rows)
        sizes = [len(self._data.train[i]) for i in ids]
        return cohort_of(work, ids, sizes, outcomes, rows, self.num_params)

    def _checked(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        dimensions: tuple[int, ...] = (1, 2),
    ) -> tuple[tuple[int, ...], Matrix]:
        """Return the ids as whole numbers, and the models as rows in single precision."""
        self._check_ids(client_ids)
        size = self.num_params + self.num_buffers
        if params.ndim not in dimensions or params.shape[-1] != size:
            raise ValueError(f"params must have shape ({size},), got {params.shape}.")
        models = np.atleast_2d(params).astype(np.float32, copy=False)
        return tuple(int(client_id) for client_id in client_ids), models

    def _check_ids(self, client_ids: Iterable[int]) -> None:
        for client_id in client_ids:
            if not 0 <= client_id < self.num_clients:
                raise ValueError(
                    f"client ids must lie in 0..{self.num_clients - 1}, got {client_id}."
                )


if TYPE_CHECKING:

    def _is_a_kind_of_clients(pool: ClientPool) -> Clients:
        return pool
