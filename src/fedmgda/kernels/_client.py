"""What one client does with a model: train it, or score it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.kernels._jit import STAMP, entry, kernel
from fedmgda.kernels._linear import linear_example
from fedmgda.kernels._network import backward, cross_entropy, forward, squared_error

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["score", "train"]

_0, _1 = np.uint64(0), np.uint64(1)
_PART = 64
"""So many examples are summed in single precision before the sum joins the others."""


@kernel
def load_example(features: Any, table: Any, row: Any, work: Any) -> None:
    """Copy an example to the start of `work`, channels innermost, bytes through the table."""
    planes, levels = np.uint64(table.shape[0]), np.uint64(table.shape[1])
    size = np.uint64(features.shape[1]) // planes
    if levels == _0 and planes == _1:
        for k in range(size):
            work[k] = np.float32(features[row, k])
        return
    for plane in range(planes):
        start: Any = plane * size
        to: Any = plane
        for k in range(size):
            value = features[row, start + k]
            work[to] = table[plane, np.uint64(value)] if levels else np.float32(value)
            to += planes


@kernel
def example_loss(
    layers: Any, params: Any, features: Any, table: Any, classes: Any, values: Any, row: Any,
    work: Any, slopes: Any, winners: Any, noise: Any, factor: float, training: bool,
) -> tuple[float, bool]:  # fmt: skip
    """Run an example forward; write factor times the slope of its loss in the outputs."""
    load_example(features, table, row, work)
    forward(layers, params, work, winners, noise, training)
    last = layers[layers.size - 1]
    if classes.size > 0:
        return cross_entropy(last, work, classes[row], slopes, factor)
    return squared_error(last, work, values[row], slopes, factor), False


@kernel
def is_linear(layers: Any, table: Any) -> bool:
    """Whether the model is one layer on numbers that need no preparation."""
    return layers.size == 1 and table.shape[1] == 0


@kernel
def scratch(layers: Any) -> tuple[Any, Any, Any]:
    """Return memory for one example: activations, their slopes, and the winners of pooling."""
    end = layers[layers.size - 1].end
    winners = np.zeros(layers[layers.size - 1].num_winners, np.int32)
    return np.zeros(end, np.float32), np.zeros(end, np.float32), winners


@kernel
def add(y: Any, factor: Any, x: Any) -> None:
    """Add factor * x to y."""
    for k in range(y.size):
        y[k] += factor * x[k]


@kernel
def begin_step(params: Any, received: Any, grad: Any, momentum: float, prox: float) -> None:
    """Leave in `grad` what a step holds before any example: momentum and the proximal term."""
    # Without momentum an infinite step must not become 0 * inf.
    if momentum > 0.0:
        for k in range(grad.size):
            grad[k] *= np.float32(momentum)
    else:
        grad[:] = np.float32(0.0)
    if prox > 0.0:
        for k in range(grad.size):
            grad[k] += np.float32(prox) * (params[k] - received[k])


def _entries(stamp: int) -> tuple[Callable[..., float], Callable[..., Any]]:
    """Return the two functions that are called from Python; `entry` says why they are made here."""

    @entry
    def train(
        layers: Any, params: Any, grad: Any, features: Any, table: Any, classes: Any, values: Any,
        rows: Any, batch: int, lr: float, momentum: float, prox: float, factor: float,
        training: bool, noise: Any,
    ) -> float:  # fmt: skip
        """Do local SGD over the rows, in place, and return the mean of the batch losses.

        Args:
            layers: Of `LAYER`, the model.
            params: In the kernels' order: w_t before, w_i afterwards.
            grad: Like `params`; holds the last step's direction afterwards.
            features: Of shape `(n, size)`, float32 or uint8.
            table: Of shape `(planes, 256)`: what a byte stands for; `(planes, 0)` for floats.
            classes: Of shape `(n,)`, or empty for a regression.
            values: Of shape `(n,)`, or empty for a classification.
            rows: Of shape `(epochs, num_examples)`: each epoch's order.
            batch: b.
            lr: η; 0 leaves the gradient of the last batch in `grad`.
            momentum: PyTorch's.
            prox: The c of c(w - w_t).
            factor: Multiplies the loss, not the proximal term.
            training: Whether dropout is on.
            noise: Of shape `(1,)`, uint64: the state of the coin flips.
        """
        _ = stamp
        received, part = params.copy(), np.zeros_like(grad)
        work, slopes, winners = scratch(layers)
        linear = is_linear(layers, table)
        grad[:] = np.float32(0.0)
        total, batches = 0.0, 0
        for epoch in range(rows.shape[0]):
            for start in range(0, rows.shape[1], batch):
                chosen = rows[epoch, start : start + batch]
                begin_step(params, received, grad, momentum, prox)
                loss, large = 0.0, chosen.size > _PART
                sums = part if large else grad
                for begin in range(0, chosen.size, _PART):
                    if large:
                        part[:] = np.float32(0.0)
                    for i in range(begin, min(begin + _PART, chosen.size)):
                        row = np.uint64(chosen[i])
                        if linear:
                            loss += linear_example(
                                layers[0], params, sums, features, row, classes, values, slopes,
                                factor / chosen.size,
                            )[0]  # fmt: skip
                            continue
                        loss += example_loss(
                            layers, params, features, table, classes, values, row, work, slopes,
                            winners, noise, factor / chosen.size, training,
                        )[0]  # fmt: skip
                        backward(layers, params, sums, work, slopes, winners, training)
                    if large:
                        add(grad, np.float32(1.0), part)
                add(params, np.float32(-lr), grad)
                total, batches = total + loss / chosen.size, batches + 1
        return total / batches

    @entry
    def score(
        layers: Any, params: Any, features: Any, table: Any, classes: Any, values: Any, rows: Any,
        ends: Any, training: bool,
    ) -> Any:  # fmt: skip
        """Return mean loss and share of right classes of users, of shape `(users, 2)`.

        Args:
            layers: Of `LAYER`, the model.
            params: In the kernels' order.
            features: As for `train`, and so are the next three.
            table: What a byte stands for.
            classes: Of shape `(n,)`, or empty.
            values: Of shape `(n,)`, or empty.
            rows: The examples of all users, one user after the other.
            ends: Of shape `(users,)`: where the examples of each end.
            training: Whether dropout is on; False for a score.
        """
        _ = stamp
        work, slopes, winners = scratch(layers)
        linear = is_linear(layers, table)
        noise, scores = np.zeros(1, np.uint64), np.empty((ends.size, 2))
        start = 0
        for user in range(ends.size):
            loss, correct = 0.0, 0
            for i in range(start, ends[user]):
                row = np.uint64(rows[i])
                if linear:
                    one, right = linear_example(
                        layers[0], params, work, features, row, classes, values, slopes, 0.0
                    )
                else:
                    one, right = example_loss(
                        layers, params, features, table, classes, values, row, work, slopes,
                        winners, noise, 1.0, training,
                    )  # fmt: skip
                loss += one
                correct += right
            scores[user, 0] = loss / (ends[user] - start)
            scores[user, 1] = correct / (ends[user] - start)
            start = ends[user]
        return scores

    return train, score


train, score = _entries(STAMP)
