"""What a model says of single examples, in the form that metrics take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector

__all__ = ["Answers", "rarer_class"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """What a model says of n examples; leading axes, if any, are further samples of such n.

    Attributes:
        targets: Of shape `(..., n)`: the true classes, or the true values.
        predictions: Of shape `(..., n)`: the class, or the value, the model gives.
        losses: Of shape `(..., n)`: the loss of each example.
        probabilities: Of shape `(..., n, k)`; None for a regression, or where they are not known.
        num_classes: The number of classes; None for a regression.
        positive: Of two classes, the one that is looked for.
        scale: Of a regression, how many units of the target 1 is.
    """

    targets: NDArray[Any]
    predictions: NDArray[Any]
    losses: Vector
    probabilities: Matrix | None = None
    num_classes: int | None = None
    positive: int = 1
    scale: float = 1.0

    @property
    def num_rows(self) -> int:
        """The number of examples, n."""
        return int(self.targets.shape[-1])

    def take(self, rows: NDArray[Any]) -> Answers:
        """Return some of the examples; rows of shape `(r, m)` give r samples of m examples.

        >>> said = Answers(targets=np.array([3.0, 4.0]), predictions=np.ones(2), losses=np.ones(2))
        >>> said.take(np.array([[0, 0], [1, 0]])).targets.tolist()
        [[3.0, 3.0], [4.0, 3.0]]
        """
        odds = self.probabilities
        return replace(
            self,
            targets=self.targets[rows],
            predictions=self.predictions[rows],
            losses=self.losses[rows],
            probabilities=None if odds is None else odds[rows],
        )

    def swapped(self, other: Answers, swap: NDArray[Any]) -> Answers:
        """Return these answers, those of another model in the places where `swap` says so.

        Args:
            other: What the other model says of the same examples.
            swap: Of shape `(r, n)`, truth values: r samples of n examples.
        """
        odds = None
        if self.probabilities is not None and other.probabilities is not None:
            odds = np.where(swap[..., None], other.probabilities, self.probabilities)
        return replace(
            self,
            targets=np.broadcast_to(self.targets, swap.shape),
            predictions=np.where(swap, other.predictions, self.predictions),
            losses=np.where(swap, other.losses, self.losses),
            probabilities=odds,
        )


def rarer_class(counts: NDArray[Any]) -> int:
    """Return the one of two classes that has fewer examples; the second, if they are as many.

    >>> rarer_class(np.array([19, 1])), rarer_class(np.array([1, 19])), rarer_class(np.ones(2))
    (1, 0, 1)
    """
    return 0 if len(counts) == 2 and counts[0] < counts[1] else 1
