from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch.nn import functional

from fedmgda.models import femnist_cnn


def test_the_layers_come_in_the_order_of_the_paper() -> None:
    module = femnist_cnn().eval()
    conv1, bias1, conv2, bias2, fc1, bias3, fc2, bias4 = module.parameters()
    x = torch.randn(3, 1, 28, 28)
    y = functional.conv2d(functional.conv2d(x, conv1, bias1).relu(), conv2, bias2).relu()
    y = functional.max_pool2d(y, 2).flatten(1)
    y = functional.linear(y, fc1, bias3).relu()
    torch.testing.assert_close(module(x), functional.linear(y, fc2, bias4))


def test_each_layer_has_the_parameters_of_the_table() -> None:
    sizes = [parameter.numel() for parameter in femnist_cnn().parameters()]
    pairs = [weight + bias for weight, bias in zip(sizes[::2], sizes[1::2], strict=True)]
    assert pairs == [320, 18496, 1179776, 7998]


def test_kernels_start_from_the_normal_distribution_of_glorot_and_biases_from_zero() -> None:
    fans = {"2": 9 + 9 * 32, "4": 9 * 32 + 9 * 64, "9": 9216 + 128, "12": 128 + 62}
    for name, parameter in femnist_cnn().named_parameters():
        layer, kind = name.split(".")
        values = parameter.detach().flatten().numpy()
        if kind == "bias":
            assert not values.any()
            continue
        scale = np.sqrt(2 / fans[layer])
        assert stats.kstest(values[:20000] / scale, "norm").pvalue > 1e-3, name


def test_dropout_is_a_quarter_after_the_pool_and_a_half_before_the_end() -> None:
    rates = [layer.p for layer in femnist_cnn() if isinstance(layer, nn.Dropout)]
    assert rates == [0.25, 0.5]


@pytest.mark.parametrize("shape", [(28, 28), (1, 28, 28), (784,)])
def test_an_image_may_come_with_or_without_its_channel(shape: tuple[int, ...]) -> None:
    module, x = femnist_cnn().eval(), torch.randn(3, 1, 28, 28)
    assert torch.equal(module(x.reshape(3, *shape)), module(x))


def test_another_number_of_classes_changes_the_last_layer_only() -> None:
    assert sum(parameter.numel() for parameter in femnist_cnn(10).parameters()) == (
        1_206_590 - 52 * 129
    )
