"""How curved the clients' losses can be: from sums that a client could send without its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Indices, Vector
    from fedmgda.data._federated import FederatedData

__all__ = ["loss_curvatures"]

_AT_ONCE = 1 << 22  # entries of features that are held as float64 at the same time


def loss_curvatures(data: FederatedData, class_weights: Vector | None = None) -> Vector:
    """Return for each client an upper bound L_i of the curvature of a linear model's loss.

    With x̃ the features and a 1 for the intercept, the squared error (y - w·x̃)² has the second
    derivative 2 x̃x̃ᵀ, and the cross-entropy of scores Wx̃ has (diag p - ppᵀ) ⊗ x̃x̃ᵀ, in which the
    first factor is at most 1/2. So L_i = 2 E‖x̃‖² or E‖x̃‖² / 2, the mean being over the training
    rows of client i. A client sends two numbers: how many rows it has, and the sum of ‖x̃‖².

    Args:
        data: The data of all clients.
        class_weights: Of shape `(num_classes,)`: by what the loss of a row of each class is
            multiplied; None means 1.

    Returns:
        Of shape `(num_clients,)`; 0 for a client without training rows.

    >>> from fedmgda.data import FederatedData
    >>> rows = [np.array([0, 1])]
    >>> x = np.array([[1.0, 2.0], [0.0, 0.0]], np.float32)
    >>> two = dict(name="two", features=x, train=rows, validation=rows, test=rows)
    >>> numbers = FederatedData(targets=np.zeros(2, np.float32), num_classes=None, **two)
    >>> float(loss_curvatures(numbers)[0])
    7.0
    >>> classes = FederatedData(targets=np.array([0, 1]), num_classes=2, **two)
    >>> float(loss_curvatures(classes)[0])
    1.75
    """
    factor = 2.0 if data.num_classes is None else 0.5
    return np.array([factor * _mean_square(data, rows, class_weights) for rows in data.train])


def _mean_square(data: FederatedData, rows: Indices, class_weights: Vector | None) -> float:
    if not len(rows):
        return 0.0
    step = max(1, _AT_ONCE // max(1, data.features[0].size))
    total = 0.0
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        x = np.asarray(data.features[some], np.float64).reshape(len(some), -1)
        if data.pixels is not None:
            x = (x / 255.0 - data.pixels.mean) / data.pixels.std
        squares = 1.0 + (x**2).sum(axis=1)
        weights = 1.0 if class_weights is None else class_weights[data.targets[some]]
        total += float((weights * squares).sum())
    return total / len(rows)
