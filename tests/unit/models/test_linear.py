from __future__ import annotations

import torch

from fedmgda.models import linear


def test_the_model_is_affine() -> None:
    module = linear(3, 2)
    a, b = torch.randn(4, 3), torch.randn(4, 3)
    middle = module((a + b) / 2)
    torch.testing.assert_close(middle, (module(a) + module(b)) / 2)
    assert middle.shape == (4, 2)


def test_it_has_a_weight_for_each_pair_and_a_bias_for_each_output() -> None:
    assert sum(parameter.numel() for parameter in linear(99, 2).parameters()) == 200
