from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from fedmgda.clients._shared import SharedArray, SharedData
from unit.clients._toys import descriptors, federation


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


def test_shared_data_opens_as_the_same_data() -> None:
    data = federation()
    opened = SharedData.of(data).open()
    for name in ("train", "validation", "test"):
        for rows, expected in zip(opened.split(name), data.split(name), strict=True):
            np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(opened.features, data.features)
    np.testing.assert_array_equal(opened.targets, data.targets)
    assert (opened.name, opened.num_classes) == (data.name, data.num_classes)
    assert not np.shares_memory(opened.features, data.features)


def test_a_mapped_file_is_opened_again_and_not_copied(tmp_path: Path) -> None:
    data = federation()
    np.save(tmp_path / "features.npy", data.features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    opened = SharedData.of(dataclasses.replace(data, features=mapped)).open()
    assert isinstance(opened.features, np.memmap)
    assert Path(opened.features.filename) == tmp_path / "features.npy"
    np.testing.assert_array_equal(opened.features, data.features)


def test_a_slice_of_a_mapped_file_is_copied(tmp_path: Path) -> None:
    data = federation()
    padded = np.concatenate([data.features[:3], data.features])
    np.save(tmp_path / "features.npy", padded)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")[3:]
    opened = SharedData.of(dataclasses.replace(data, features=mapped)).open()
    np.testing.assert_array_equal(opened.features, data.features)


def test_the_rows_of_the_clients_are_a_sequence_of_views() -> None:
    data = federation()
    shared = SharedData.of(data)
    opened = shared.open().train
    assert len(opened) == len(data.train)
    assert np.shares_memory(opened[3], shared.rows.array)
    np.testing.assert_array_equal(opened[-1], data.train[-1])
    for rows, expected in zip(opened[1:3], data.train[1:3], strict=True):
        np.testing.assert_array_equal(rows, expected)
    for beyond in (6, -7):
        with pytest.raises(IndexError, match=f"^There is no client {beyond} among 6"):
            opened[beyond]
