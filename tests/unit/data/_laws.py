import numpy as np


def assert_complete_and_disjoint(portions, num_examples):
    assert all(portion.dtype == np.int64 for portion in portions)
    assert np.array_equal(np.sort(np.concatenate(portions)), np.arange(num_examples))


def assert_same(portions, again):
    assert len(portions) == len(again)
    assert all(np.array_equal(one, other) for one, other in zip(portions, again, strict=True))
