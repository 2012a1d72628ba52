"""The paper's convolutional network for FEMNIST, the one of Reddi et al."""

from __future__ import annotations

from torch import nn

__all__ = ["femnist_cnn"]


def femnist_cnn(num_classes: int = 62) -> nn.Module:
    """Return the network for grey images of 28 x 28; it gives `(n, num_classes)` logits.

    Inputs may have shape `(n, 28, 28)`, `(n, 1, 28, 28)` or `(n, 784)`. Kernels start from Glorot's
    normal distribution, N(0, 2 / (fan_in + fan_out)), and biases from zero (SPEC 4).

    >>> sum(parameter.numel() for parameter in femnist_cnn().parameters())
    1206590
    """
    # 28 -> 26 -> 24 -> 12 pixels a side.
    module = nn.Sequential(
        nn.Flatten(),
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, num_classes),
    )
    for name, param in module.named_parameters():
        if name.endswith("weight"):
            nn.init.xavier_normal_(param)
        else:
            nn.init.zeros_(param)
    return module
