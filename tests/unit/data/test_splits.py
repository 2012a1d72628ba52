import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedmgda._errors import DataError
from fedmgda.data import load_digits, split_locally


@given(
    st.lists(st.integers(3, 600), min_size=1, max_size=10), st.sampled_from(["shuffled", "tail"])
)
def test_a_split_is_complete_disjoint_and_leaves_nobody_empty(sizes, how):
    hands = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    splits = split_locally(hands, how, seed=3)
    for hand, *parts in zip(hands, *splits, strict=True):
        assert sorted(np.concatenate(parts)) == list(hand)
        assert all(len(part) >= 1 for part in parts)


@pytest.mark.parametrize(
    ("size", "parts"),
    [
        (500, (400, 50, 50)),
        (600, (480, 60, 60)),
        (413, (330, 41, 42)),
        (32148, (25718, 3215, 3215)),
    ],
)
def test_the_sizes_are_those_of_the_paper(size, parts):
    splits = split_locally([np.arange(size)], "tail", seed=0)
    assert tuple(len(split[0]) for split in splits) == parts


def test_tail_keeps_the_order_and_shuffled_does_not():
    hand = np.arange(100)
    tail, shuffled = split_locally([hand], "tail", 0), split_locally([hand], "shuffled", 0)
    np.testing.assert_array_equal(np.concatenate([part[0] for part in tail]), hand)
    assert not np.array_equal(np.concatenate([part[0] for part in shuffled]), hand)


def test_each_client_is_shuffled_on_its_own():
    hands = [np.arange(100), np.arange(100, 200)]
    both = split_locally(hands, "shuffled", 5)
    alone = split_locally(hands[:1], "shuffled", 5)
    np.testing.assert_array_equal(both[0][0], alone[0][0])
    assert not np.array_equal(both[0][0] + 100, both[0][1])


def test_a_client_with_too_few_examples_is_named():
    with pytest.raises(DataError, match="Client 1 has 2 examples and needs at least 3"):
        split_locally([np.arange(5), np.arange(2)], "tail", 0)


def test_the_digits_are_the_real_ones():
    digits = load_digits()
    features, targets = digits.features, digits.targets
    assert features.shape == (1797, 64)
    assert (features.dtype, targets.dtype) == (np.float32, np.int64)
    assert (features.min(), features.max()) == (0.0, 1.0)
    assert np.bincount(targets).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
