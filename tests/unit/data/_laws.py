import numpy as np


def assert_complete_and_disjoint(hands, num_examples):
    assert all(hand.dtype == np.int64 for hand in hands)
    assert np.array_equal(np.sort(np.concatenate(hands)), np.arange(num_examples))


def assert_same(hands, again):
    assert len(hands) == len(again)
    assert all(np.array_equal(one, other) for one, other in zip(hands, again, strict=True))
