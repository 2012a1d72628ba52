"""The paper's convolutional network for Fashion-MNIST."""

from __future__ import annotations

from torch import nn

__all__ = ["fmnist_cnn"]


def fmnist_cnn(num_classes: int = 10, *, dropout: bool = True) -> nn.Module:
    """Return the network for grey images of 28 x 28; it gives `(n, num_classes)` logits.

    Inputs may have shape `(n, 28, 28)`, `(n, 1, 28, 28)` or `(n, 784)`. PyTorch's default
    initialisation, as in the released code (SPEC 4). Without dropout a step on all data follows the
    gradient of the loss that is evaluated.

    >>> sum(parameter.numel() for parameter in fmnist_cnn().parameters())
    21840
    """
    rate = 0.5 if dropout else 0.0
    # 28 -> 24 -> 12 -> 8 -> 4 pixels a side.
    return nn.Sequential(
        nn.Flatten(),
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 10, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(10, 20, 5),
        # Before the pool as in the code, not after it as in the table: the same function, since
        # dropping a whole channel commutes with pooling and ReLU.
        nn.Dropout2d(rate),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(20 * 4 * 4, 50),
        nn.ReLU(),
        nn.Dropout(rate),
        nn.Linear(50, num_classes),
    )
