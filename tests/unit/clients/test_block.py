from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from fedmgda.clients._block import Block, gather
from unit.clients._toys import federation


def test_batches_are_consecutive_and_the_last_partial_one_is_kept() -> None:
    block = Block(torch.randn(23, 5), torch.randint(3, (23,)))
    batches = list(block.batches(10))
    assert [len(targets) for _, targets in batches] == [10, 10, 3]
    assert torch.equal(torch.cat([features for features, _ in batches]), block.features)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float64, torch.float32),
        (np.float16, torch.float32),
        (np.int32, torch.int64),
        (np.uint8, torch.int64),
    ],
)
def test_measurements_become_floats_and_whole_numbers_stay_whole(
    dtype: type, expected: torch.dtype
) -> None:
    data = federation((4,))
    changed = np.asarray(np.abs(data.features) * 10, dtype)
    block = gather(dataclasses.replace(data, features=changed), data.train[0])
    assert block.features.dtype == expected
    np.testing.assert_array_equal(block.features.numpy(), changed[data.train[0]])


def test_a_gathered_block_is_an_aligned_copy() -> None:
    data = federation()
    data.features.flags.writeable = False
    for rows in data.train:
        block = gather(data, rows)
        assert block.features.data_ptr() % 64 == 0
        block.features.zero_()
    assert data.features.any()


def test_arrays_of_the_other_byte_order_are_read_as_they_are_meant() -> None:
    data = federation()
    swapped = dataclasses.replace(
        data, features=data.features.astype(">f4"), targets=data.targets.astype(">i8")
    )
    ours, theirs = (gather(each, data.train[0]) for each in (data, swapped))
    assert torch.equal(ours.features, theirs.features)
    assert torch.equal(ours.targets, theirs.targets)
