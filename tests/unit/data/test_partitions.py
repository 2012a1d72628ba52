import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import DataError
from fedmgda.data import iid_partition, natural_partition, shard_partition
from unit.data._laws import assert_complete_and_disjoint, assert_same


@given(st.integers(1, 40), st.integers(0, 400), st.integers(0, 2**32))
def test_an_iid_partition_is_complete_disjoint_even_and_repeatable(num_clients, extra, seed):
    n = num_clients + extra
    portions = iid_partition(n, num_clients, np.random.default_rng(seed))
    assert_complete_and_disjoint(portions, n)
    sizes = [len(portion) for portion in portions]
    assert max(sizes) - min(sizes) <= 1
    assert_same(portions, iid_partition(n, num_clients, np.random.default_rng(seed)))


@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 12), st.integers(0, 2**32))
def test_shards_are_complete_disjoint_and_of_few_classes(clients, shards, classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=clients * shards * 7)
    portions = shard_partition(labels, clients, shards, rng)
    assert_complete_and_disjoint(portions, len(labels))
    assert {len(portion) for portion in portions} == {7 * shards}
    # A shard of 7 may straddle classes; pure shards would give at most `shards` of them.
    changes = np.count_nonzero(np.diff(np.sort(labels)))
    assert sum(len(set(labels[portion])) for portion in portions) <= clients * shards + changes


@pytest.mark.parametrize(("per_class", "size"), [(5000, 500), (6000, 600)])
def test_pure_shards_give_at_most_one_class_each(per_class, size):
    labels = np.repeat(np.arange(10), per_class)
    portions = shard_partition(labels, 100, 5, np.random.default_rng(1))
    assert {len(portion) for portion in portions} == {size}
    assert max(len(set(labels[portion])) for portion in portions) <= 5
    assert_same(portions, shard_partition(labels, 100, 5, np.random.default_rng(1)))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60))
def test_a_natural_partition_gives_everyone_what_is_theirs_in_order(owners):
    groups = np.array(owners)
    portions = natural_partition(groups)
    assert_complete_and_disjoint(portions, len(groups))
    assert [set(groups[portion]) for portion in portions] == [
        {owner} for owner in sorted(set(owners))
    ]
    assert all(np.all(np.diff(portion) > 0) for portion in portions)


def test_natural_clients_may_be_named_by_texts():
    portions = natural_partition(np.array(["oslo", "bergen", "oslo"]))
    assert [portion.tolist() for portion in portions] == [[1], [0, 2]]


def test_nothing_cannot_be_dealt_by_nature():
    with pytest.raises(DataError, match="no examples"):
        natural_partition(np.array([]))


def test_too_many_clients_for_the_examples_are_refused():
    with pytest.raises(DataError, match="3 examples cannot be dealt to 4 clients"):
        iid_partition(3, 4, np.random.default_rng(0))
    with pytest.raises(DataError, match="3 examples cannot be cut into 4 shards"):
        shard_partition(np.zeros(3), 2, 2, np.random.default_rng(0))
