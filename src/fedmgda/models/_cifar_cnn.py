"""The paper's convolutional network for CIFAR-10."""

from __future__ import annotations

from torch import nn

from fedmgda.models._lrn import LocalResponseNorm

__all__ = ["cifar_cnn"]


def cifar_cnn(num_classes: int = 10) -> nn.Module:
    """Return the network for inputs of shape `(n, 3, 32, 32)`; it gives `(n, num_classes)` logits.

    PyTorch's default initialisation, as in the released code (SPEC 4).

    >>> sum(parameter.numel() for parameter in cifar_cnn().parameters())
    797962
    """
    # The order differs on purpose: the first block pools and then normalises, the second one
    # normalises and then pools. 32 -> 28 -> 14 -> 10 -> 5 pixels a side.
    return nn.Sequential(
        nn.Conv2d(3, 64, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        LocalResponseNorm(2, alpha=1e-4, beta=0.75, k=1.0),
        nn.Conv2d(64, 64, 5),
        nn.ReLU(),
        LocalResponseNorm(2, alpha=1e-4, beta=0.75, k=1.0),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 5 * 5, 384),
        nn.ReLU(),
        nn.Linear(384, 192),
        nn.ReLU(),
        nn.Linear(192, num_classes),
    )
