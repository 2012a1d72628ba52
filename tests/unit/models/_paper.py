"""The models of the paper, small inputs for each, and the number of parameters SPEC 4 gives."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch

from fedmgda.models import char_lstm, cifar_cnn, femnist_cnn, fmnist_cnn, linear, mlp

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


class Case(NamedTuple):
    build: Callable[[], nn.Module]
    num_params: int
    features: Callable[[int], torch.Tensor]
    num_outputs: int

    def targets(self, n: int) -> torch.Tensor:
        if self.num_outputs == 1:
            return torch.randn(n)
        return torch.randint(self.num_outputs, (n,))


def noise(*shape: int) -> Callable[[int], torch.Tensor]:
    return lambda n: torch.randn(n, *shape)


CASES = {
    "cifar_cnn": Case(cifar_cnn, 797_962, noise(3, 32, 32), 10),
    "fmnist_cnn": Case(fmnist_cnn, 21_840, noise(28, 28), 10),
    "femnist_cnn": Case(femnist_cnn, 1_206_590, noise(784), 62),
    "logistic": Case(partial(linear, 99, 2), 200, noise(99), 2),
    "char_lstm": Case(char_lstm, 819_920, lambda n: torch.randint(80, (n, 80)), 80),
    "mlp": Case(partial(mlp, (64, 32, 10)), 2_410, noise(8, 8), 10),
    "regressor": Case(partial(linear, 7, 1), 8, noise(7), 1),
}
