from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from fedmgda.models import cifar_cnn


def response_norm(x: torch.Tensor) -> torch.Tensor:
    """Divide by (1 + 1e-4 (a² + b²) / 2)^0.75 over each channel a and the one before it, b."""
    before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
    return x / (1 + 1e-4 * (x**2 + before**2) / 2) ** 0.75


def test_the_layers_come_in_the_order_of_the_paper() -> None:
    module = cifar_cnn().double()
    conv1, bias1, conv2, bias2, *dense = module.parameters()
    x = 300 * torch.randn(2, 3, 32, 32, dtype=torch.double)  # so large that the norms matter
    y = functional.max_pool2d(functional.conv2d(x, conv1, bias1).relu(), 2)
    y = functional.conv2d(response_norm(y), conv2, bias2).relu()
    y = functional.max_pool2d(response_norm(y), 2).flatten(1)
    for weight, bias in zip(dense[0:4:2], dense[1:4:2], strict=True):
        y = functional.linear(y, weight, bias).relu()
    torch.testing.assert_close(module(x), functional.linear(y, *dense[4:]))


def test_each_layer_has_the_parameters_of_the_table() -> None:
    sizes = [parameter.numel() for parameter in cifar_cnn().parameters()]
    pairs = [weight + bias for weight, bias in zip(sizes[::2], sizes[1::2], strict=True)]
    assert pairs == [4864, 102464, 614784, 73920, 1930]


def test_initial_values_are_uniform_within_the_root_of_the_fan_in() -> None:
    for parameter, fan_in in zip(cifar_cnn().parameters(), [75, 75, 1600, 1600], strict=False):
        bound = fan_in**-0.5
        assert 0.9 * bound < parameter.abs().max() <= bound


def test_nothing_is_random_in_training() -> None:
    module, features = cifar_cnn().train(), torch.randn(2, 3, 32, 32)
    assert torch.equal(module(features), module(features))


def test_images_with_the_channel_last_are_refused() -> None:
    with pytest.raises(RuntimeError, match="3 channels"):
        cifar_cnn()(torch.zeros(1, 32, 32, 3))
