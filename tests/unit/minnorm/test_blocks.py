from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import _blocks, float64_blocks


@given(
    st.integers(0, 5),
    st.integers(0, 40),
    st.none() | st.integers(1, 50),
    st.sampled_from([np.float32, np.float64, np.int64]),
)
def test_the_blocks_are_the_columns_in_order_each_once(
    m: int, d: int, widest: int | None, dtype: type
) -> None:
    updates = np.random.default_rng(m + 7 * d).normal(scale=9.0, size=(m, d)).astype(dtype)
    seen = 0
    for columns, block in float64_blocks(updates, widest):
        assert columns.start == seen
        assert block.dtype == np.float64
        assert 1 <= block.shape[1] <= (widest or d)
        np.testing.assert_array_equal(block, updates[:, columns].astype(np.float64))
        seen = columns.stop
    assert seen == d


@pytest.mark.parametrize("m", [1, 10, 100, 1000, 50_000])
def test_a_block_fits_the_cache_unless_it_would_be_too_narrow(m: int) -> None:
    updates = np.broadcast_to(np.float32(1.0), (m, 700_000))  # takes no memory
    _, block = next(iter(float64_blocks(updates)))
    assert block.nbytes <= _blocks.BLOCK_BYTES or block.shape[1] == _blocks.NARROWEST
    assert block.shape[1] >= _blocks.NARROWEST


def test_float64_values_are_not_copied() -> None:
    updates = np.ones((3, 4))
    assert all(np.shares_memory(block, updates) for _, block in float64_blocks(updates, 3))
