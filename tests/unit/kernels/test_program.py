from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from torch import nn

from fedmgda.kernels import translate
from fedmgda.models import char_lstm, cifar_cnn, femnist_cnn, fmnist_cnn, linear, mlp


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (partial(linear, 99, 2), (99,)),
        (partial(mlp, (64, 32, 10)), (8, 8)),
        (fmnist_cnn, (28, 28)),
        (fmnist_cnn, (784,)),
        (fmnist_cnn, (1, 28, 28)),
    ],
)
def test_the_order_of_the_kernels_holds_every_parameter_once(build, shape) -> None:
    module = build()
    program = translate(module, shape)
    assert program is not None
    assert program.beats_torch(10)
    d = sum(param.numel() for param in module.parameters())
    assert len(np.unique(program.positions)) == d == len(program.positions)
    params = np.arange(1, d + 1, dtype=np.float32)
    arranged = program.arrange(params)
    np.testing.assert_array_equal(arranged[program.positions], params)
    assert np.count_nonzero(arranged) == d


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (cifar_cnn(), (3, 32, 32)),
        (char_lstm(80), (80,)),
        (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)), (4,)),
        (nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), (4,)),
        (nn.Sequential(nn.Linear(4, 3, bias=False)), (4,)),
        (nn.Sequential(nn.Linear(4, 2), nn.ReLU()), (4,)),
        (nn.Sequential(nn.Linear(4, 2)), (5,)),
        (nn.Sequential(nn.Linear(4, 2)), (3, 4)),
        (nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Flatten(), nn.Linear(2, 2)), (1, 4, 4)),
        (nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Flatten(), nn.Linear(32, 2)), (1, 4, 4)),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Dropout(), nn.Flatten(), nn.Linear(8, 2)), (1, 4, 4)),
        (nn.Sequential(nn.Conv2d(1, 2, 2), nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(8, 2)),
         (1, 4, 4)),
        (nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.ReLU(), nn.Linear(4, 2)), (4,)),
        (nn.Embedding(5, 2), (4,)),
    ],
)  # fmt: skip
def test_what_the_kernels_do_not_know_is_left_to_torch(module: nn.Module, shape) -> None:
    assert translate(module, shape) is None


def test_large_layers_are_left_to_torch() -> None:
    program = translate(femnist_cnn(), (28, 28))
    assert program is None or not program.beats_torch(10)


def test_wide_dense_layers_are_left_to_torch_in_large_batches() -> None:
    program = translate(mlp((784, 200, 10)), (784,))
    assert program is not None
    assert program.beats_torch(10)
    assert not program.beats_torch(500)


def test_a_tied_parameter_is_left_to_torch() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    assert translate(nn.Sequential(first, nn.ReLU(), second), (3,)) is None


def two_layers(first: nn.Module, between: nn.Module) -> nn.Module:
    return nn.Sequential(first, between, nn.Linear(4, 4), between, nn.Linear(4, 2))


def test_one_relu_that_stands_in_two_places_counts_twice() -> None:
    program = translate(two_layers(nn.Linear(4, 4), nn.ReLU()), (4,))
    assert program is not None
    assert program.layers["relu"].tolist() == [1, 1, 0]


class Doubled(nn.Linear):
    def forward(self, features):
        return 2 * super().forward(features)


class Backwards(nn.Sequential):
    def forward(self, features):
        return super().forward(features.flip(1))


def test_a_module_that_does_something_else_than_its_type_says_is_left_to_torch() -> None:
    shared = nn.Linear(4, 4)
    hooked = nn.Sequential(nn.Linear(4, 2))
    hooked[0].register_forward_hook(lambda *call: 2 * call[-1])
    frozen = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    frozen[0].weight.requires_grad_(requires_grad=False)
    modules = [
        nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), nn.Linear(4, 2)),
        nn.Sequential(Doubled(4, 2)),
        Backwards(nn.Linear(4, 2)),
        hooked,
        frozen,
    ]
    for module in modules:
        assert translate(module, (4,)) is None
