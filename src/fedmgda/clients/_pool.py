"""The clients as the federation sees them."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Self, final

import numpy as np

from fedmgda._errors import FedmgdaError
from fedmgda.clients._bench import Bench, Outcome, Settings, Task
from fedmgda.clients._checks import check_settings
from fedmgda.clients._engines import choose_engine
from fedmgda.clients._evaluation import Evaluation
from fedmgda.clients._objective import gather
from fedmgda.models import initial_vector, takes_channels_last
from fedmgda.values import Cohort, DenseUpdates, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from torch import Tensor, nn

    from fedmgda._types import Matrix, Vector
    from fedmgda.clients._bench import ComputePath, Device, ReportedLoss
    from fedmgda.clients._training import LocalTraining
    from fedmgda.data import FederatedData, Split

__all__ = ["ClientPool"]


@final
class ClientPool:
    """Trains and evaluates clients, in this process or in worker processes.

    Every number is a function of the data, the settings, the model, the round and the client: the
    number of workers, the order of the clients and a worker that had to be replaced change no bit.
    Use it as a context manager, or call `close`.

    Attributes:
        num_params: d, the number of parameters of the model.
        num_buffers: The entries of its float buffers, which follow the parameters in the vector.
        path: What computes: "compiled" or "torch".
    """

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
                factor (the scaling attack, SPEC 2). `evaluate` and `gradients` stay truthful.
            client_timeout: Seconds after which a client in a worker process is given up.
            reported_loss: "before" reports f_i(w_t), for which every client passes over its split
                once more; "during" reports the mean of the batch losses while training.
            path: "compiled" computes with the kernels for small networks, "torch" with the module
                itself, and "auto" with the kernels where they know the model and are faster. The
                numbers agree up to rounding; dropout flips other coins.
            device: Where torch computes. A GPU does not promise the same bits every time.
        """
        check_settings(
            workers=workers,
            client_timeout=client_timeout,
            reported_loss=reported_loss,
            path=path,
            device=device,
        )
        self._data = data
        factors = dict(loss_factors or {})
        self._check_factors(factors)
        self._settings = Settings(
            build_model=build_model,
            training=training,
            seed=seed,
            loss_factors=factors,
            reported_loss=reported_loss,
            # Decided once: every process must compute in the same format.
            channels_last=takes_channels_last(build_model, _shown(data)),
            device=device,
        )
        bench = Bench(data, self._settings)
        self._groups = bench.groups
        self._scored: tuple[Vector, dict[int, float]] = (np.empty(0), {})
        self.num_params = bench.model.num_params
        self.num_buffers = bench.model.num_buffers
        self.path, self._engine = choose_engine(
            data, self._settings, bench, path=path, workers=workers, client_timeout=client_timeout
        )

    def initial_params(self) -> Vector:
        """Return the initial model of the seed, of shape `(d + num_buffers,)`, float32."""
        return initial_vector(self._settings.build_model, self._settings.seed)

    def train_cohort(self, params: Vector, client_ids: Sequence[int], round_num: int) -> Cohort:
        """Let each client train the model on its own data.

        Args:
            params: Of shape `(d + num_buffers,)`, w_t and the float buffers.
            client_ids: The m clients of the round.
            round_num: The round, 1 for the first: with seed and client it fixes all randomness.

        Returns:
            The clients that finished, in the given order, with rows of `d + num_buffers` entries;
            the others are in `failures`. `updates` is a view of memory that the next call of
            `train_cohort` overwrites: copy it to keep it.
        """
        # Where all clients take part, this model was evaluated at the end of the last round.
        known = self._scored[1] if np.array_equal(self._scored[0], params) else {}
        task = Task(work="train", round_num=round_num, known=known)
        outcomes, rows = self._run(task, params, client_ids)
        done = [i for i, outcome in enumerate(outcomes) if outcome.reason is None]
        ids = tuple(int(client_ids[i]) for i in done)
        rows = rows.copy() if len(done) == len(outcomes) else rows[done]
        return Cohort(
            client_ids=ids,
            updates=DenseUpdates(rows[:, : self.num_params]),
            buffers=rows[:, self.num_params :] if self.num_buffers else None,
            num_examples=np.array([len(self._data.train[i]) for i in ids], dtype=np.float64),
            losses=np.array([outcomes[i].loss for i in done], dtype=np.float64),
            local_losses=np.array([outcomes[i].local_loss for i in done], dtype=np.float64),
            failures=tuple(
                Failure(client_id=int(client_id), reason=outcome.reason)
                for client_id, outcome in zip(client_ids, outcomes, strict=True)
                if outcome.reason is not None
            ),
        )

    def evaluate(self, params: Vector, client_ids: Sequence[int], split: Split) -> Evaluation:
        """Return loss and accuracy of a model for each client on one split.

        On the training split the loss is, to the bit, the one `train_cohort` reports as "before".
        """
        # Where the loss must be the reported one to the bit, every client is a batch of its own.
        if self.path == "torch" and split != "train":
            scores = self._grouped_scores(split, params, client_ids)
        else:
            task = Task(work="evaluate", split=split)
            outcomes, _ = self._run(task, params, client_ids)
            _require(outcomes, [(client_id,) for client_id in client_ids], "evaluated")
            scores = np.array([(o.loss, o.accuracy) for o in outcomes]).reshape(-1, 2)
        if split == "train":
            losses = zip(client_ids, scores[:, 0].tolist(), strict=True)
            self._scored = params.copy(), {int(client): loss for client, loss in losses}
        sizes = [len(self._data.split(split)[i]) for i in client_ids]
        return Evaluation(
            client_ids=tuple(int(i) for i in client_ids),
            losses=scores[:, 0],
            accuracies=scores[:, 1],
            num_examples=np.array(sizes, dtype=np.float64),
        )

    def _grouped_scores(self, split: Split, params: Vector, client_ids: Sequence[int]) -> Matrix:
        """Evaluate the groups that the clients are in, and return their rows in the given order."""
        for client_id in client_ids:
            self._check_id(client_id)
        groups = self._groups(split)
        asked = groups.of(client_ids)
        task = Task(work="evaluate", split=split, grouped=True)
        outcomes, _ = self._run(task, params, asked)
        members = [groups.members(group) for group in asked]
        _require(outcomes, members, "evaluated")
        scores = [outcome.scores for outcome in outcomes if outcome.scores is not None]
        order = {client_id: row for row, client_id in enumerate(chain.from_iterable(members))}
        return np.vstack([np.empty((0, 2)), *scores])[[order[i] for i in client_ids]]

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Matrix:
        """Return the gradients of the clients' mean training losses, in eval mode.

        Returns:
            Of shape `(m, d)`, float32; a view of memory that the next call overwrites.
        """
        outcomes, rows = self._run(Task(work="gradient"), params, client_ids)
        _require(outcomes, [(client_id,) for client_id in client_ids], "differentiated")
        return rows

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
        self, task: Task, params: Vector, units: Sequence[int]
    ) -> tuple[list[Outcome], Matrix]:
        for client_id in () if task.grouped else units:
            self._check_id(client_id)
        size = self.num_params + self.num_buffers
        if params.shape != (size,):
            raise ValueError(f"params must have shape ({size},), got {params.shape}.")
        return self._engine.run(task, params.astype(np.float32, copy=False), units)

    def _check_id(self, client_id: int) -> None:
        if not 0 <= client_id < self._data.num_clients:
            raise ValueError(
                f"client ids must lie in 0..{self._data.num_clients - 1}, got {client_id}."
            )

    def _check_factors(self, factors: Mapping[int, float]) -> None:
        for client_id, factor in factors.items():
            self._check_id(client_id)
            if not math.isfinite(factor):
                raise ValueError(
                    f"loss_factors must be finite, got {factor} for client {client_id}."
                )


def _shown(data: FederatedData) -> Tensor:
    """Return the features of two examples, enough to see whether a module takes them."""
    return gather(data, np.arange(min(2, len(data.targets)))).features


def _require(outcomes: Sequence[Outcome], units: Sequence[Sequence[int]], done: str) -> None:
    for members, outcome in zip(units, outcomes, strict=True):
        if outcome.reason is not None:
            who = f"Client {members[0]}"
            if len(members) > 1:
                who = f"One of the clients {members[0]} to {members[-1]}"
            raise FedmgdaError(f"{who} could not be {done}: {outcome.reason}.")
