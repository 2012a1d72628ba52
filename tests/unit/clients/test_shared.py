from __future__ import annotations

import os

import numpy as np
import pytest

from fedmgda.clients._shared import SharedArray
from unit.clients._toys import descriptors


def test_a_shared_array_grows_and_earlier_views_stay_valid() -> None:
    shared = SharedArray((0, 3), "float32")
    short = shared.reserve(2)
    short[:] = 1
    long = shared.reserve(5)
    assert long.shape == (5, 3)
    assert long[:2].min() == 1
    assert not long[2:].any()
    long[0] = 7
    assert short[0].tolist() == [7, 7, 7]
    assert shared.reserve(1).shape == (1, 3)


def test_a_second_holder_of_the_file_sees_the_same_memory() -> None:
    first = SharedArray((2, 2), "int64")
    second = SharedArray((0, 2), "int64", fd=os.dup(first._fd))
    first.reserve(4)[3] = 9
    assert second.reserve(4)[3].tolist() == [9, 9]


def test_a_view_outlives_the_shared_array_and_nothing_outlives_both() -> None:
    before = descriptors()
    shared = SharedArray.of(np.arange(6.0).reshape(2, 3))
    view = shared.array[1]
    del shared
    assert view.tolist() == [3, 4, 5]
    del view
    assert descriptors() == before


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_arrays_without_entries_can_be_shared(shape: tuple[int, ...]) -> None:
    assert SharedArray.of(np.zeros(shape)).array.shape == shape
