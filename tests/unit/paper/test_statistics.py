import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy import stats

from fedmgda.paper import holm, paired_difference
from fedmgda.paper._statistics import Spread, welch

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8)


def by_seed(values):
    return dict(enumerate(values))


@given(VALUES, st.integers(0, 2**32 - 1))
def test_the_interval_is_that_of_the_paired_t_test(first, seed):
    second = list(np.array(first) + np.random.default_rng(seed).normal(size=len(first)))
    found = paired_difference(by_seed(first), by_seed(second))
    test = stats.ttest_rel(first, second)
    low, high = test.confidence_interval(0.95)
    assert found.n == len(first)
    np.testing.assert_allclose((found.low, found.high), (low, high), rtol=1e-6, atol=1e-9)
    assert found.p == pytest.approx(test.pvalue, rel=1e-4, abs=1e-9)


@given(VALUES, VALUES)
def test_turning_the_pair_round_turns_the_sign(first, second):
    there = paired_difference(by_seed(first), by_seed(second))
    back = paired_difference(by_seed(second), by_seed(first))
    assert (there.mean, there.low, there.high) == pytest.approx(
        (-back.mean, -back.high, -back.low), nan_ok=True
    )
    assert there.excludes_zero == back.excludes_zero


def test_only_seeds_that_both_have_are_paired():
    found = paired_difference({1: 5.0, 2: 9.0, 3: 7.0}, {2: 8.0, 3: 5.0, 4: 100.0})
    assert (found.n, found.mean) == (2, 1.5)


def test_one_seed_has_no_interval_and_excludes_nothing():
    found = paired_difference({1: 5.0}, {1: 3.0})
    assert (found.n, found.mean) == (1, 2.0)
    assert math.isnan(found.low)
    assert not found.excludes_zero


def test_no_common_seed_has_no_mean():
    assert math.isnan(paired_difference({1: 5.0}, {2: 3.0}).mean)


def test_a_wider_confidence_has_a_wider_interval():
    first, second = by_seed([1.0, 2.0, 4.0]), by_seed([0.0, 0.5, 3.5])
    narrow, wide = (paired_difference(first, second, confidence=c) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("gap", [0.0, 1.0, 19 / 6])
def test_equal_differences_have_no_spread_to_judge_by(gap):
    first = by_seed([2.0, 3.0, 5.0])
    found = paired_difference({seed: value + gap for seed, value in first.items()}, first)
    assert found.mean == pytest.approx(gap)
    assert math.isnan(found.low)
    assert math.isnan(found.p)
    assert not found.excludes_zero


P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@given(P_VALUES, st.floats(0.001, 0.2))
def test_holm_rejects_step_by_step(values, level):
    """By its definition: the smallest is tested at level / k, the next at level / (k - 1), ..."""
    adjusted = holm(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    rejecting = True
    for rank, i in enumerate(order):
        rejecting = rejecting and (len(values) - rank) * values[i] <= level
        assert (adjusted[i] <= level) == rejecting


@given(P_VALUES)
def test_holm_never_helps_and_counts_only_what_is_known(values):
    adjusted = holm(values)
    assert all(a >= p for a, p in zip(adjusted, values, strict=True))
    with_nan = holm([*values, math.nan])
    assert with_nan[:-1] == adjusted
    assert math.isnan(with_nan[-1])


def spread(values):
    return Spread(mean=float(np.mean(values)), std=float(np.std(values)), n=len(values))


@given(VALUES, VALUES)
def test_welch_is_the_test_of_unequal_variances_from_what_is_printed(first, second):
    one, other = spread(first), spread(second)
    assume(min(one.std, other.std) > 1e-3)  # else SciPy warns of its own rounding
    known = stats.ttest_ind(first, second, equal_var=False).pvalue
    assert welch(one, other) == pytest.approx(known, rel=1e-6, abs=1e-12)
    assert welch(one, other) == welch(other, one)


def test_welch_has_no_p_for_a_single_run_and_compares_means_without_spread():
    alone, exact = Spread(mean=1.0, std=0.0, n=1), Spread(mean=1.0, std=0.0, n=5)
    assert math.isnan(welch(alone, exact))
    assert math.isnan(welch(Spread(mean=math.nan, std=1.0, n=3), exact))
    assert welch(exact, exact) == 1.0
    assert welch(exact, Spread(mean=1.1, std=0.0, n=5)) == 0.0
