import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedmgda._errors import DataError
from fedmgda.data import iid_partition, shard_partition


@given(st.integers(1, 40), st.integers(0, 400), st.integers(0, 2**32))
def test_an_iid_partition_is_complete_disjoint_even_and_repeatable(num_clients, extra, seed):
    n = num_clients + extra
    hands = iid_partition(n, num_clients, np.random.default_rng(seed))
    assert sorted(np.concatenate(hands)) == list(range(n))
    sizes = [len(hand) for hand in hands]
    assert max(sizes) - min(sizes) <= 1
    again = iid_partition(n, num_clients, np.random.default_rng(seed))
    assert all(np.array_equal(one, other) for one, other in zip(hands, again, strict=True))


@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 12), st.integers(0, 2**32))
def test_shards_are_complete_disjoint_and_of_few_classes(clients, shards, classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=clients * shards * 7)
    hands = shard_partition(labels, clients, shards, rng)
    assert sorted(np.concatenate(hands)) == list(range(len(labels)))
    assert {len(hand) for hand in hands} == {7 * shards}
    # A shard of 7 may straddle classes; pure shards would give at most `shards` of them.
    changes = np.count_nonzero(np.diff(np.sort(labels)))
    assert sum(len(set(labels[hand])) for hand in hands) <= clients * shards + changes


def test_pure_shards_give_at_most_one_class_each():
    labels = np.repeat(np.arange(10), 5000)
    hands = shard_partition(labels, 100, 5, np.random.default_rng(1))
    assert {len(hand) for hand in hands} == {500}
    assert max(len(set(labels[hand])) for hand in hands) <= 5


def test_too_many_clients_for_the_examples_are_refused():
    with pytest.raises(DataError, match="3 examples cannot be dealt to 4 clients"):
        iid_partition(3, 4, np.random.default_rng(0))
    with pytest.raises(DataError, match="3 examples cannot be cut into 4 shards"):
        shard_partition(np.zeros(3), 2, 2, np.random.default_rng(0))
