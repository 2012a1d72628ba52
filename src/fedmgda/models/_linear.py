"""Linear regression and multinomial logistic regression: the loss decides which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.models._mlp import mlp

if TYPE_CHECKING:
    from torch import nn

__all__ = ["linear"]


def linear(num_features: int, num_outputs: int) -> nn.Module:
    """Return one affine layer for inputs of shape `(n, ...)` with `num_features` entries each.

    >>> [tuple(parameter.shape) for parameter in linear(99, 2).parameters()]
    [(2, 99), (2,)]
    """
    return mlp((num_features, num_outputs))
