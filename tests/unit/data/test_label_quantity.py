import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from fedmgda._errors import DataError, SpecError
from fedmgda.data import label_quantity_partition
from unit.data._laws import assert_complete_and_disjoint, assert_same


@given(
    st.integers(1, 40), st.integers(1, 12), st.integers(1, 12), st.integers(0, 300),
    st.integers(0, 2**32),
)  # fmt: skip
def test_no_client_sees_more_classes_than_it_owns(clients, classes, per_client, extra, seed):
    rng = np.random.default_rng(seed)
    # Each class often enough that all its owners get an example.
    labels = np.concatenate(
        [np.repeat(np.arange(classes), clients), rng.integers(classes, size=extra)]
    )
    assume(per_client <= classes <= clients * per_client)
    portions = label_quantity_partition(labels, clients, per_client, np.random.default_rng(seed))
    assert_complete_and_disjoint(portions, len(labels))
    assert {len(set(labels[portion])) for portion in portions} == {per_client}
    again = label_quantity_partition(labels, clients, per_client, np.random.default_rng(seed))
    assert_same(portions, again)


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 60), st.integers(0, 2**32))
def test_with_one_class_each_nobody_is_empty_however_rare_a_class(clients, classes, extra, seed):
    assume(classes <= clients)
    rng = np.random.default_rng(seed)
    rare_first = np.minimum(rng.geometric(0.5, size=extra + clients) - 1, classes - 1)
    labels = np.concatenate([np.arange(classes), rare_first])
    portions = label_quantity_partition(labels, clients, 1, rng)
    assert_complete_and_disjoint(portions, len(labels))
    assert {len(set(labels[portion])) for portion in portions} == {1}


def test_equal_classes_make_equal_clients():
    labels = np.repeat(np.arange(10), 600)
    portions = label_quantity_partition(labels, 100, 3, np.random.default_rng(0))
    assert {len(portion) for portion in portions} == {60}


def test_single_examples_of_many_classes_still_reach_everyone():
    portions = label_quantity_partition(np.arange(10), 10, 10, np.random.default_rng(0))
    assert {len(portion) for portion in portions} == {1}


def test_impossible_wishes_are_refused():
    labels = np.repeat(np.arange(10), 6)
    rng = np.random.default_rng(0)
    with pytest.raises(SpecError, match="between 1 and the 10 classes of the data, got 11"):
        label_quantity_partition(labels, 5, 11, rng)
    with pytest.raises(SpecError, match="3 clients with 2 classes each leave some of the 10"):
        label_quantity_partition(labels, 3, 2, rng)
    with pytest.raises(DataError, match="2 examples do not reach all 3 clients"):
        label_quantity_partition(np.array([0, 1]), 3, 1, rng)
    with pytest.raises(DataError, match="60 examples do not reach all 9223372036854775807"):
        label_quantity_partition(labels, 2**63 - 1, 2, rng)
