import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.federation import UniformSampler, cohort_size


@given(st.integers(1, 60), st.data())
def test_a_cohort_is_distinct_ascending_and_holds_the_always_on(n, data):
    m = data.draw(st.integers(1, n))
    always_on = data.draw(st.lists(st.integers(0, n - 1), max_size=m, unique=True))
    sampler = UniformSampler(num_clients=n, per_round=m, always_on=tuple(always_on))
    drawn = sampler(np.random.default_rng(data.draw(st.integers(0, 1000))))
    assert len(drawn) == m == len(set(drawn))
    assert list(drawn) == sorted(drawn)
    assert set(always_on) <= set(drawn) <= set(range(n))


def test_every_client_is_equally_likely():
    sampler = UniformSampler(num_clients=10, per_round=3)
    rng = np.random.default_rng(0)
    counts = np.bincount(np.concatenate([sampler(rng) for _ in range(20_000)]), minlength=10)
    # 6000 expected; five standard deviations of a binomial with p = 0.3 are 324.
    assert np.all(np.abs(counts - 6000) < 330)


def test_all_clients_when_all_are_asked_for():
    assert UniformSampler(num_clients=5, per_round=5)(np.random.default_rng(0)) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("participation", "n", "m"),
    [(0.1, 100, 10), (0.07, 100, 7), (0.071, 100, 8), (1.0, 7, 7), (1e-6, 7, 1), (0.5, 31, 16)],
)
def test_the_cohort_size_is_the_ceiling_but_for_the_last_bit(participation, n, m):
    assert cohort_size(participation, n) == m


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_clients": 5, "per_round": 6}, r"per_round must lie in \[1, 5\]"),
        ({"num_clients": 5, "per_round": 0}, r"per_round must lie in \[1, 5\]"),
        ({"num_clients": 5, "per_round": 1, "always_on": (0, 1)}, "2 clients are always on"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        UniformSampler(**options)
