from __future__ import annotations

from functools import partial

import numpy as np
import torch
from hypothesis import given, strategies as st
from torch import nn

from fedmgda.models import initial_vector, mlp

build = partial(mlp, (4, 3, 2))


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_the_initial_vector_is_a_function_of_the_seed(seed: int, other: int) -> None:
    first = initial_vector(build, seed)
    torch.rand(3)
    np.testing.assert_array_equal(first, initial_vector(build, seed))
    assert first.dtype == np.float32
    if seed != other:
        assert not np.array_equal(first, initial_vector(build, other))


def test_the_initial_values_are_those_of_pytorch() -> None:
    weights = initial_vector(partial(mlp, (400, 300)), 0)[: 400 * 300]
    bound = 1 / np.sqrt(400)
    assert np.abs(weights).max() <= bound
    assert np.isclose(weights.std(), bound / np.sqrt(3), rtol=0.01)


def test_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    initial_vector(build, 1)
    assert torch.equal(before, torch.get_rng_state())


def test_buffers_are_part_of_the_initial_vector() -> None:
    vector = initial_vector(partial(nn.BatchNorm1d, 3), 0)
    assert vector.tolist() == [1.0] * 3 + [0.0] * 3 + [0.0] * 3 + [1.0] * 3


def test_the_vector_owns_its_memory() -> None:
    vector = initial_vector(build, 1)
    assert vector.base is None
