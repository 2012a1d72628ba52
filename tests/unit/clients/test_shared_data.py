from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fedmgda.clients._shared_data import SharedData
from unit.clients._toys import federation


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
