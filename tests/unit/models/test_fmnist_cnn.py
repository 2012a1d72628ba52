from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from fedmgda.models import fmnist_cnn


def test_the_layers_come_in_the_order_of_the_paper() -> None:
    module = fmnist_cnn().eval()
    conv1, bias1, conv2, bias2, fc1, bias3, fc2, bias4 = module.parameters()
    x = torch.randn(3, 1, 28, 28)
    y = functional.max_pool2d(functional.conv2d(x, conv1, bias1), 2).relu()
    y = functional.max_pool2d(functional.conv2d(y, conv2, bias2), 2).relu()
    y = functional.linear(y.flatten(1), fc1, bias3).relu()
    torch.testing.assert_close(module(x), functional.linear(y, fc2, bias4))


def test_each_layer_has_the_parameters_of_the_table() -> None:
    sizes = [parameter.numel() for parameter in fmnist_cnn().parameters()]
    pairs = [weight + bias for weight, bias in zip(sizes[::2], sizes[1::2], strict=True)]
    assert pairs == [260, 5020, 16050, 510]


def test_dropout_takes_half_of_the_whole_channels_and_half_of_the_dense_layer() -> None:
    seen = {}
    module = fmnist_cnn().train()
    for layer in module:
        if "Dropout" in type(layer).__name__:
            layer.register_forward_hook(lambda own, _, output: seen.update({type(own): output}))
    module(torch.randn(200, 28, 28))
    channels, dense = seen[torch.nn.Dropout2d], seen[torch.nn.Dropout]
    assert channels.shape == (200, 20, 8, 8)
    dead = (channels == 0).flatten(2)
    assert (dead.all(2) == dead.any(2)).all()
    assert 0.45 < dead.all(2).float().mean() < 0.55
    alive = dense[dense > 0]
    assert 0 < len(alive) < 0.5 * dense.numel()


@pytest.mark.parametrize("shape", [(28, 28), (1, 28, 28), (784,), (28, 28, 1)])
def test_an_image_may_come_with_or_without_its_channel(shape: tuple[int, ...]) -> None:
    module, x = fmnist_cnn().eval(), torch.randn(3, 1, 28, 28)
    assert torch.equal(module(x.reshape(3, *shape)), module(x))


def test_an_image_of_another_size_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"\[1, 28, 28\]"):
        fmnist_cnn()(torch.zeros(4, 14, 14))


def test_without_dropout_training_and_evaluation_are_the_same_function() -> None:
    module, images = fmnist_cnn(dropout=False), torch.rand(3, 28, 28)
    torch.testing.assert_close(module.train()(images), module.eval()(images), rtol=0, atol=0)
