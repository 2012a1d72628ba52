from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from torch import nn

from fedmgda.models import FlatModel


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Linear(3, 3, bias=False)
        self.outside = nn.Linear(3, 3)
        self.outside.weight = self.inside.weight

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.outside(self.inside(features))


def with_batch_norm() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))


@given(hnp.arrays(np.float32, 8, elements=st.floats(-9, 9, width=32)))
def test_a_loaded_vector_is_the_model(vector: np.ndarray) -> None:
    model = FlatModel(nn.Linear(3, 2))
    model.load(vector)
    features = torch.arange(6.0).reshape(2, 3)
    expected = features.numpy() @ vector[:6].reshape(2, 3).T + vector[6:]
    np.testing.assert_allclose(model.module(features).detach().numpy(), expected, atol=1e-4)
    np.testing.assert_array_equal(model.array, vector)


def test_flattening_keeps_what_the_module_computes() -> None:
    module = with_batch_norm().eval()
    features = torch.randn(5, 2)
    before = module(features)
    assert torch.equal(FlatModel(module).module(features), before)


def test_float_buffers_follow_the_parameters() -> None:
    module = with_batch_norm()
    model = FlatModel(module)
    assert (model.num_params, model.num_buffers) == (19, 6)
    expected = torch.cat(
        [*(p.flatten() for p in module.parameters()), torch.zeros(3), torch.ones(3)]
    )
    assert torch.equal(model.vector, expected)
    assert model.params.shape == model.grad.shape == (19,)


def test_batch_norm_statistics_move_the_tail_and_nothing_else() -> None:
    model = FlatModel(with_batch_norm().train())
    before = model.vector.clone()
    model.module(torch.randn(5, 2))
    assert torch.equal(model.params, before[:19])
    assert not torch.equal(model.vector[19:22], before[19:22])
    assert not torch.equal(model.vector[22:], before[22:])


def test_integer_buffers_return_to_their_initial_value_when_a_vector_is_loaded() -> None:
    model = FlatModel(with_batch_norm().train())
    vector = model.array.copy()
    counter = model.module[1].num_batches_tracked
    model.module(torch.randn(5, 2))
    assert counter.item() == 1
    model.load(vector)
    assert counter.item() == 0


def test_backward_adds_to_the_flat_gradient() -> None:
    model = FlatModel(nn.Linear(2, 1))
    for _ in range(2):
        model.module(torch.tensor([[3.0, 4.0]])).sum().backward()
    assert model.grad.tolist() == [6.0, 8.0, 2.0]


def test_tied_parameters_count_once_and_collect_both_gradients() -> None:
    model = FlatModel(Tied())
    assert model.num_params == 9 + 3
    features = torch.randn(4, 3)
    model.module(features).sum().backward()
    plain = Tied()
    plain.load_state_dict(model.module.state_dict())
    plain(features).sum().backward()
    assert torch.equal(model.grad[:9], plain.inside.weight.grad.flatten())


def test_frozen_parameters_travel_and_stay_put() -> None:
    module = nn.Linear(2, 1)
    module.weight.requires_grad_(False)
    model = FlatModel(module)
    model.module(torch.ones(1, 2)).sum().backward()
    assert model.grad.tolist() == [0.0, 0.0, 1.0]


def test_a_module_of_doubles_becomes_single_precision() -> None:
    model = FlatModel(nn.Linear(2, 1).double())
    assert model.vector.dtype == model.module.weight.dtype == torch.float32


@pytest.mark.parametrize("shape", [(1,), (2,), (4,), (3, 1), ()])
def test_a_vector_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    model = FlatModel(nn.Linear(2, 1))
    with pytest.raises(
        ValueError, match="3 parameters and 0 buffer entries, got a vector of shape"
    ):
        model.load(np.zeros(shape, np.float32))


def test_a_read_only_vector_can_be_loaded() -> None:
    vector = np.ones(3, np.float64)
    vector.flags.writeable = False
    model = FlatModel(nn.Linear(2, 1))
    model.load(vector)
    assert model.vector.tolist() == [1.0, 1.0, 1.0]


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 2, 2),
        nn.Flatten(),
        nn.Linear(50, 2),
    )


def test_the_vector_that_travels_keeps_torchs_order_with_channels_last() -> None:
    plain, turned = FlatModel(convolutions()), FlatModel(convolutions(), channels_last=True)
    vector = np.arange(plain.num_params + plain.num_buffers, dtype=np.float32)
    plain.load(vector)
    turned.load(vector)
    np.testing.assert_array_equal(turned.array, vector)
    for own, other in zip(turned.module.parameters(), plain.module.parameters(), strict=True):
        assert torch.equal(own, other)
    assert not torch.equal(turned.vector, plain.vector)


def test_kernels_and_their_gradients_lie_with_channels_last() -> None:
    model = FlatModel(convolutions(), channels_last=True)
    for part in (model.module[0], model.module[3]):
        assert part.weight.is_contiguous(memory_format=torch.channels_last)
        assert part.weight.grad.stride() == part.weight.stride()


def test_channels_last_changes_rounding_only() -> None:
    plain = FlatModel(convolutions())
    turned = FlatModel(convolutions(), channels_last=True)
    turned.load(plain.array)
    features = torch.randn(3, 3, 6, 6)
    for model in (plain, turned):
        for _ in range(2):  # into the same gradient
            model.module(features).square().sum().backward()
        model.params.sub_(model.grad, alpha=0.01)
    np.testing.assert_allclose(turned.grad_array, plain.grad_array, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(turned.array, plain.array, rtol=1e-4, atol=1e-4)


def test_an_array_is_a_copy() -> None:
    model = FlatModel(nn.Linear(2, 1))
    before, grad = model.array, model.grad_array
    model.vector.add_(1)
    model.grad.add_(1)
    np.testing.assert_allclose(model.array - before, 1)
    assert grad.tolist() == [0, 0, 0]
