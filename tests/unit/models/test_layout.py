from __future__ import annotations

import torch
from torch import nn

from fedmgda.models import cifar_cnn, femnist_cnn, fmnist_cnn, linear, takes_channels_last

IMAGES = torch.zeros(2, 3, 8, 8)


class Viewing(nn.Module):
    """Cuts its activations with `view`, as many tutorials do."""

    def __init__(self, *, only_in_training: bool = False) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.only_in_training = only_in_training

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        hidden = self.conv(features)
        if self.only_in_training and not self.training:
            return hidden.flatten(1)
        return hidden.view(len(hidden), -1)


def reshaping() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten())


def test_networks_with_convolutions_take_channels_last() -> None:
    assert takes_channels_last(reshaping, IMAGES)
    assert takes_channels_last(cifar_cnn, torch.zeros(2, 3, 32, 32))
    for build in (fmnist_cnn, femnist_cnn):
        assert takes_channels_last(build, torch.zeros(2, 28, 28))


def test_a_network_without_convolutions_does_not() -> None:
    assert not takes_channels_last(lambda: linear(192, 2), IMAGES)


def test_a_network_that_cannot_is_left_alone() -> None:
    assert not takes_channels_last(Viewing, IMAGES)
    assert not takes_channels_last(lambda: Viewing(only_in_training=True), IMAGES)


def test_without_an_example_nobody_knows() -> None:
    assert not takes_channels_last(reshaping, IMAGES[:0])


def test_trying_leaves_torchs_generator_alone() -> None:
    state = torch.get_rng_state()
    takes_channels_last(fmnist_cnn, torch.zeros(2, 28, 28))
    assert torch.equal(torch.get_rng_state(), state)
