"""A multi-layer perceptron."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["mlp"]


def mlp(sizes: Sequence[int]) -> nn.Module:
    """Return linear layers with ReLU between them, for inputs of shape `(n, ...)`.

    Args:
        sizes: The width of the flattened input, of each hidden layer, and of the output.

    >>> sum(parameter.numel() for parameter in mlp((64, 32, 10)).parameters())
    2410
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"sizes must be at least two positive widths, got {tuple(sizes)}.")
    layers: list[nn.Module] = [nn.Flatten()]
    for width_in, width_out in pairwise(sizes):
        layers += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
