from __future__ import annotations

import pickle
from functools import partial

import pytest
import torch

from fedmgda.models import mlp


def test_layers_are_affine_with_relu_between_them() -> None:
    module = mlp((2, 3, 1))
    first, second = (layer for layer in module if isinstance(layer, torch.nn.Linear))
    features = torch.randn(5, 2)
    assert torch.equal(module(features), second(torch.relu(first(features))))


def test_the_output_is_not_cut_off_at_zero() -> None:
    module = mlp((1, 1))
    features = torch.tensor([[-1.0], [1.0]])
    centred = module(features) - module(torch.zeros(1, 1))
    assert centred.min() < 0 < centred.max()


def test_images_are_flattened() -> None:
    assert mlp((64, 10))(torch.zeros(3, 1, 8, 8)).shape == (3, 10)


def test_a_factory_can_be_pickled() -> None:
    build = pickle.loads(pickle.dumps(partial(mlp, (2, 3, 1))))  # noqa: S301 - made on this line
    assert build()(torch.zeros(1, 2)).shape == (1, 1)


@pytest.mark.parametrize("sizes", [(), (3,), (3, 0), (3, -1, 2)])
def test_sizes_that_make_no_network_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="sizes must be at least two positive widths, got"):
        mlp(sizes)
