from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from torch import nn

from fedmgda.models import FlatModel, initial_vector, layout_of
from fedmgda.values import named_arrays
from unit.models._paper import CASES


class Tied(nn.Module):
    """One weight under two names, a parameter of no entries, and one without dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.nothing = nn.Parameter(torch.empty(0, 3))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(features)) * self.scale


def normed() -> nn.Module:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))
    module.register_buffer("hidden", torch.ones(3), persistent=False)
    module[1].num_batches_tracked.fill_(7)
    return module


BUILDS: dict[str, Any] = {"tied": Tied, "normed": normed} | {
    name: case.build for name, case in CASES.items()
}


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
def test_the_file_of_a_model_has_the_bytes_of_its_state_dict(build: Any) -> None:
    vector = initial_vector(build, 3) + np.float32(0.25)
    model = FlatModel(build())
    model.load(vector)
    state = model.module.state_dict()
    expected = {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in state.items()}
    assert save(named_arrays(layout_of(build), vector)) == save(expected)


def test_what_does_not_travel_keeps_its_value_and_its_type() -> None:
    layout = {tensor.name: tensor for tensor in layout_of(normed)}
    counter = layout["1.num_batches_tracked"]
    assert counter.start is None
    assert counter.value == 7
    arrays = named_arrays(layout.values(), initial_vector(normed, 0))
    assert arrays["1.num_batches_tracked"].dtype == np.int64
    assert "hidden" not in arrays


def test_the_layout_leaves_the_generator_of_torch_alone() -> None:
    state = torch.get_rng_state()
    layout_of(normed)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_model_in_double_precision_is_written_in_single() -> None:
    arrays = named_arrays(layout_of(Tied), np.zeros(len(initial_vector(Tied, 0))))
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float32)}
