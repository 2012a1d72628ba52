"""What a model that knows no features would lose: the least a trained one must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedmgda._types import Vector

__all__ = ["KnownTargets", "constant_losses"]


class KnownTargets(Protocol):
    """Anything that holds the targets of single examples, as stored predictions do."""

    @property
    def targets(self) -> NDArray[Any]:
        """Of shape `(n,)`: whole class numbers, or the floats of a regression."""


def constant_losses(predictions: KnownTargets, target_sums: ArrayLike) -> Vector:
    """Return the loss that the constant predictor has on each example.

    It says the same of every example, from sums that every client could send: for classes the
    share (c_k + 1) / (n + K) of each of the K classes among the n training examples, the ones so
    that no class is impossible; for a regression the mean of the training targets. The loss is the
    cross-entropy -log of the share of the true class, or the squared error.

    Args:
        predictions: Holds the n targets; whole numbers are classes, floats a regression.
        target_sums: For classes of shape `(K,)`, the training examples of each; for a regression
            their number, the sum of their targets and the sum of the squares.

    Returns:
        Of shape `(n,)`, float64.

    Raises:
        ValueError: If the sums are not of such a shape, or count nobody in a regression.

    >>> from types import SimpleNamespace
    >>> classes = SimpleNamespace(targets=np.array([0, 1]))
    >>> np.exp(-constant_losses(classes, [2, 0])).round(4).tolist()
    [0.75, 0.25]
    >>> values = SimpleNamespace(targets=np.array([0.0, 2.0]))
    >>> constant_losses(values, [4, 4.0, 10.0]).tolist()
    [1.0, 1.0]
    """
    targets, sums = np.asarray(predictions.targets), np.asarray(target_sums, np.float64)
    if targets.dtype.kind == "f":
        if sums.shape != (3,) or not sums[0] > 0:
            raise ValueError(
                "target_sums of a regression must be the count, sum and sum of squares of at "
                f"least one target, got {sums.tolist()}."
            )
        return (targets.astype(np.float64) - sums[1] / sums[0]) ** 2
    if sums.ndim != 1 or (len(targets) and targets.max() >= len(sums)):
        raise ValueError(
            f"target_sums of classes must have one number per class, got shape {sums.shape}."
        )
    return np.asarray(-np.log((sums + 1.0) / (sums.sum() + len(sums)))[targets])
