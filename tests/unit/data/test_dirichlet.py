import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedmgda._errors import DataError, SpecError
from fedmgda.data import dirichlet_partition, quantity_skew_partition
from unit.data._laws import assert_complete_and_disjoint, assert_same

concentrations = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)


@settings(max_examples=60)
@given(
    st.integers(2, 1000), concentrations, st.integers(1, 12), st.integers(1, 5),
    st.integers(0, 400), st.integers(0, 2**32),
)  # fmt: skip
def test_every_concentration_ends_with_everyone_served(clients, alpha, classes, least, extra, seed):
    labels = np.random.default_rng(seed).integers(classes, size=clients * least + extra)
    portions = dirichlet_partition(labels, clients, alpha, np.random.default_rng(seed), least)
    assert_complete_and_disjoint(portions, len(labels))
    assert len(portions) == clients
    assert min(len(portion) for portion in portions) >= least
    again = dirichlet_partition(labels, clients, alpha, np.random.default_rng(seed), least)
    assert_same(portions, again)


@pytest.mark.parametrize("clients", [2, 10, 1000])
@pytest.mark.parametrize("alpha", [1e-3, 1e-2, 1.0, 1e3])
def test_the_corners_of_the_range_end(clients, alpha):
    labels = np.repeat(np.arange(10), 1000)
    portions = dirichlet_partition(labels, clients, alpha, np.random.default_rng(0), 10)
    assert_complete_and_disjoint(portions, len(labels))
    assert min(len(portion) for portion in portions) >= 10


def test_a_small_alpha_separates_the_classes_and_a_large_one_mixes_them():
    labels = np.repeat(np.arange(10), 1000)

    def shares(alpha):
        portions = dirichlet_partition(labels, 20, alpha, np.random.default_rng(3))
        counts = np.array([np.bincount(labels[portion], minlength=10) for portion in portions])
        return counts / 1000

    assert np.allclose(shares(1e3), 1 / 20, atol=0.01)
    assert np.count_nonzero(shares(1e-3).max(axis=0) > 0.7) == 10
    spreads = [shares(alpha).std() for alpha in (1e-3, 0.1, 1.0, 1e3)]
    assert spreads == sorted(spreads, reverse=True)


def test_proportions_follow_the_dirichlet_distribution():
    alpha, clients = 0.5, 5
    rng = np.random.default_rng(7)
    labels = np.zeros(4000, dtype=np.int64)
    first = np.array(
        [len(dirichlet_partition(labels, clients, alpha, rng, 1)[0]) for _ in range(400)]
    )
    shares = first / 4000
    variance = (1 / clients) * (1 - 1 / clients) / (clients * alpha + 1)
    assert abs(shares.mean() - 1 / clients) < 4 * np.sqrt(variance / 400)
    assert abs(shares.var() / variance - 1) < 0.3


@given(
    st.integers(1, 200), concentrations, st.integers(1, 5), st.integers(0, 500), st.integers(0, 99)
)
def test_skewed_quantities_are_complete_disjoint_and_large_enough(
    clients, alpha, least, extra, seed
):
    n = clients * least + extra
    portions = quantity_skew_partition(n, clients, alpha, np.random.default_rng(seed), least)
    assert_complete_and_disjoint(portions, n)
    assert len(portions) == clients
    assert min(len(portion) for portion in portions) >= least
    again = quantity_skew_partition(n, clients, alpha, np.random.default_rng(seed), least)
    assert_same(portions, again)


def test_a_small_alpha_makes_sizes_more_unequal():
    def sizes(alpha):
        portions = quantity_skew_partition(10_000, 20, alpha, np.random.default_rng(1))
        return np.array([len(portion) for portion in portions])

    assert sizes(0.01).max() > 5000
    assert np.ptp(sizes(1000.0)) < 200


@pytest.mark.parametrize("partition", [dirichlet_partition, quantity_skew_partition])
def test_what_cannot_be_dealt_is_refused(partition):
    source = np.zeros(20) if partition is dirichlet_partition else 20
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="20 examples cannot be dealt to 3 clients with at least 7"):
        partition(source, 3, 1.0, rng, 7)
    with pytest.raises(SpecError, match="alpha must be positive and finite, got 0"):
        partition(source, 3, 0.0, rng)
    with pytest.raises(SpecError, match="got nan"):
        partition(source, 3, float("nan"), rng)
    with pytest.raises(SpecError, match="got 0 clients"):
        partition(source, 0, 1.0, rng)
    with pytest.raises(SpecError, match="min_size = 0"):
        partition(source, 3, 1.0, rng, 0)
