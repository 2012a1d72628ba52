"""The cross-entropy with a weight for every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["ClassWeights"]


@final
@dataclass(frozen=True, slots=True)
class ClassWeights:
    """The loss w_y · cross-entropy of an example of class y, a `LossFunction`.

    It is f_i that is weighted, so everything that speaks of f_i means the same: what a client
    minimises and reports, what rules read, and what an evaluation calls loss. Its mean is over the
    examples, not over their weights, which keeps the f_i of clients with other shares of the
    classes comparable.

    Attributes:
        weights: One positive number per class, in the order of their numbers.

    >>> loss = ClassWeights((1.0, 3.0))
    >>> loss(torch.zeros(2, 2), torch.tensor([0, 1])).tolist()
    [0.6931471824645996, 2.079441547393799]
    """

    weights: tuple[float, ...]

    def __call__(self, output: Tensor, targets: Tensor) -> Tensor:
        """Return the losses of n examples, of shape `(n,)`."""
        weights = torch.tensor(self.weights, dtype=output.dtype, device=output.device)
        return weights[targets] * functional.cross_entropy(output, targets, reduction="none")
