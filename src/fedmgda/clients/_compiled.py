"""One client's work through the compiled kernels."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, final

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.clients._bench import Outcome, explain
from fedmgda.clients._objective import gather, score as score_by_torch
from fedmgda.kernels import prepare, score, train, translate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Matrix, Vector
    from fedmgda.clients._bench import Settings, Task
    from fedmgda.data import FederatedData, Pixels, Split
    from fedmgda.kernels import Program
    from fedmgda.models import FlatModel

__all__ = ["CompiledBench", "compile_bench"]

_NEAR_BYTES = 2**26


def compile_bench(
    data: FederatedData, settings: Settings, model: FlatModel, *, always: bool
) -> CompiledBench | None:
    """Return a bench that needs no torch, or None if model or data are not made for one.

    Args:
        data: The examples of all clients.
        settings: What every bench must agree on.
        model: The model, in its initial state.
        always: Whether a bench is wanted even where torch is faster.
    """
    program = translate(model.module, data.features.shape[1:])
    if program is None or not _fits(data, int(program.layers[-1]["features"])):
        return None
    batch_size = settings.training.batch_size or max(len(rows) for rows in data.train)
    if not always and not program.beats_torch(batch_size):
        return None
    bench = CompiledBench(data, settings, program)
    return bench if bench.agrees_with(model) else None


def _fits(data: FederatedData, outputs: int) -> bool:
    """Whether the kernels may read the data: they look at nothing twice, so it is done here.

    What does not fit goes to torch, which says what is wrong with it.
    """
    images = data.features.dtype == np.uint8 and data.pixels is not None
    numbers = data.features.dtype == np.float32 and data.pixels is None
    if not (images or numbers) or not data.features.flags.c_contiguous:
        return False
    if len(data.targets) != len(data.features) or data.targets.ndim != 1:
        return False
    if data.targets.dtype.kind not in "biu":
        return outputs == 1
    return bool(len(data.targets) and data.targets.min() >= 0 and data.targets.max() < outputs)


@final
class CompiledBench:
    """What `Bench` does, for models the kernels can run; any number of threads may share it.

    The batches are those of `Bench`, and so are the numbers up to rounding; dropout flips other
    coins. What it returns depends on the settings, the data, the task and the client alone.
    """

    def __init__(self, data: FederatedData, settings: Settings, program: Program) -> None:
        self._data, self._settings, self._program = data, settings, program
        features = np.asarray(data.features).reshape(len(data.features), -1)
        targets = np.asarray(data.targets)
        classes = (
            targets.astype(np.int64, copy=False) if targets.dtype.kind in "biu" else _none(int)
        )
        values = _none(float) if classes.size else targets.astype(np.float32, copy=False)
        table = _table(data.pixels, program.planes)
        self._data_arrays = tuple(map(_constant, (features, table, classes, values)))
        self._classifies = bool(classes.size)
        self._memory = threading.local()
        prepare(self._data_arrays)

    def agrees_with(self, model: FlatModel) -> bool:
        """Whether kernels and module give a few examples the same loss."""
        rows = np.arange(min(4, len(self._data.targets)))
        ours = self._scores(self._program.arrange(model.array), [rows])[0, 0]
        block = gather(self._data, rows).to("cpu", channels_last=model.channels_last)
        theirs = score_by_torch(model.module, block)[0]
        return math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-6)

    def perform(self, task: Task, client_id: int, params: Vector, row: Vector) -> Outcome:
        """Do a client's part of the task; an error becomes the reason of the outcome.

        Args:
            task: What to do: train, or the gradient.
            client_id: For whom.
            params: Of shape `(d,)`, the model the client receives.
            row: Of shape `(d,)`: where the update or the gradient goes.
        """
        try:
            return self._perform(task, client_id, params, row)
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the others go on
            return Outcome(reason=explain(error))

    def _perform(self, task: Task, client_id: int, params: Vector, row: Vector) -> Outcome:
        rows = self._checked(self._data.train[client_id])
        arranged = self._program.arrange(params)
        if not len(rows):
            return Outcome(reason="it has no training examples")
        if task.work == "gradient":
            row[:] = self._gradient(arranged, rows)
            return Outcome()
        factor = self._settings.loss_factors.get(client_id, 1.0)
        before = None
        if self._settings.reported_loss == "before":
            # By the call that evaluates: to the bit the same number.
            before = task.known.get(client_id) or self._scores(arranged, [rows])[0, 0]
        local = self._train(task.round_num, client_id, arranged, rows, factor)
        np.subtract(params, arranged[self._program.positions], out=row)
        return Outcome(
            loss=factor * (local if before is None else before), local_loss=factor * local
        )

    def evaluate(self, split: Split, client_ids: Sequence[int], params: Vector) -> list[Outcome]:
        """Return loss and accuracy of several clients on one split."""
        try:
            rows = [self._data.split(split)[client_id] for client_id in client_ids]
            scores = self._scores(self._program.arrange(params), rows)
        except Exception as error:  # noqa: BLE001 - as above
            return [Outcome(reason=explain(error)) for _ in client_ids]
        return [Outcome(loss=float(loss), accuracy=float(share)) for loss, share in scores]

    def _scores(self, arranged: Vector, rows: Sequence[Indices]) -> Matrix:
        """Return loss and accuracy of users that have these rows, of shape `(users, 2)`."""
        ends = np.cumsum([len(some) for some in rows])
        all_rows = self._checked(np.concatenate(rows))
        layers = self._program.layers
        scores = score(layers, arranged, *self._data_arrays, all_rows, ends, False)
        if not self._classifies:
            scores[:, 1] = np.nan
        return scores

    def _checked(self, rows: Indices) -> Indices:
        """Return the rows as the kernels want them; raise IndexError if one does not exist."""
        n = len(self._data.features)
        if len(rows) and not (rows.min() >= 0 and rows.max() < n):
            raise IndexError(f"rows must lie in 0..{n - 1}, got {rows.min()} to {rows.max()}")
        return np.ascontiguousarray(rows, np.int64)

    def _gradient(self, arranged: Vector, rows: Indices) -> Vector:
        """Return the gradient of the mean loss, in eval mode: one step of length zero."""
        grad = np.empty_like(arranged)
        self._sgd(arranged, grad, rows[None], len(rows), (0.0, 0.0, 0.0, 1.0), False, _noise(0))
        return grad[self._program.positions]

    def _train(
        self, round_num: int, client_id: int, arranged: Vector, rows: Indices, factor: float
    ) -> float:
        """Train in place and return the mean of the batch losses."""
        training = self._settings.training
        rng = generator(self._settings.seed, Stream.CLIENT, round_num, client_id)
        noise = _noise(int(rng.integers(2**63)))
        size = min(training.batch_size or len(rows), len(rows))
        epochs = np.stack(
            [
                # One batch of everything is the same batch in any order.
                rows if size == len(rows) else rows[rng.permutation(len(rows))]
                for _ in range(training.local_epochs)
            ]
        )
        numbers = (training.client_lr, training.momentum, training.prox_slope, factor)
        return self._sgd(arranged, np.empty_like(arranged), epochs, size, numbers, True, noise)

    def _sgd(  # noqa: PLR0913, PLR0917 - what the kernel takes, apart from model and data
        self,
        arranged: Vector,
        grad: Vector,
        epochs: NDArray[Any],
        size: int,
        numbers: tuple[float, float, float, float],
        dropout: bool,
        noise: NDArray[Any],
    ) -> float:
        arrays = self._data_arrays
        if epochs.size * arrays[0].shape[1] * arrays[0].itemsize <= _NEAR_BYTES:
            arrays, epochs = self._bring_near(epochs)
        layers = self._program.layers
        return train(layers, arranged, grad, *arrays, epochs, size, *numbers, dropout, noise)

    def _bring_near(self, epochs: NDArray[Any]) -> tuple[tuple[NDArray[Any], ...], NDArray[Any]]:
        """Put the examples in the order of their use: reading them one by one would wait for each.

        Every thread has memory of its own for them, since to ask for new memory takes longer than
        to fill it.
        """
        features, table, classes, values = self._data_arrays
        rows = epochs.reshape(-1)
        if len(getattr(self._memory, "near", ())) < len(rows):
            self._memory.near = np.empty((len(rows), features.shape[1]), features.dtype)
        # Rows are in range, and with "clip" NumPy writes to the place itself.
        near = np.take(features, rows, axis=0, out=self._memory.near[: len(rows)], mode="clip")
        classes, values = (
            np.take(array, rows) if array.size else array for array in (classes, values)
        )
        arrays = tuple(map(_constant, (near, table, classes, values)))
        return arrays, np.arange(len(rows)).reshape(epochs.shape)


def _table(pixels: Pixels | None, planes: int) -> Vector:
    """Return what each byte stands for, by the operations that scale whole images."""
    if pixels is None:
        return np.zeros((planes, 0), np.float32)
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    levels = (levels - np.float32(pixels.mean)) / np.float32(pixels.std)
    return np.tile(levels, (planes, 1))


def _constant(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written: one type, and so one compilation, for all data."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def _none(kind: type) -> NDArray[Any]:
    return np.empty(0, np.int64 if kind is int else np.float32)


def _noise(seed: int) -> NDArray[np.uint64]:
    return np.array([seed], np.uint64)
