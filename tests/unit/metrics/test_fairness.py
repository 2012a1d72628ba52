from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.metrics import Fairness, fairness

if TYPE_CHECKING:
    from random import Random

scores = st.floats(0, 1e6, allow_subnormal=False).map(lambda x: 0.0 if x < 1e-6 else x)
distributions = st.lists(scores, min_size=1, max_size=60)


def relative(value: float, scale: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-9 * scale)


def test_values_of_a_distribution_checked_by_hand() -> None:
    summary = fairness([0.0, 1.0, 2.0, 3.0, 4.0], weights=[1, 1, 1, 1, 4], k=2)
    assert summary == Fairness(
        num_users=5,
        k=2,
        average=2.0,
        average_weighted=2.75,
        std=math.sqrt(2.0),
        variance_unweighted=pytest.approx(2.0),
        variance_weighted=pytest.approx((2.75**2 + 1.75**2 + 0.75**2 + 0.25**2 + 4 * 1.25**2) / 8),
        percentile_5=pytest.approx(0.2),
        percentile_95=pytest.approx(3.8),
        mean_lowest_5_percent=0.0,
        mean_highest_5_percent=4.0,
        worst_k=0.5,
        best_k=3.5,
        min=0.0,
        max=4.0,
        jain=pytest.approx(100 / 150),
        entropy=pytest.approx(-sum(p * math.log(p) for p in (0.1, 0.2, 0.3, 0.4))),
        cosine_to_uniform=pytest.approx(10 / math.sqrt(150)),
    )


def test_the_spread_of_four_runs_in_the_papers_table_is_reproduced() -> None:
    # The paper prints 76.25 ± 41.14 for percentiles that were 100, 100, 100 and 5.
    summary = fairness([100, 100, 100, 5])
    assert summary.average == 76.25
    assert round(summary.std, 2) == 41.14


@pytest.mark.parametrize(("num_users", "tail"), [(1, 1), (20, 1), (21, 2), (60, 3), (100, 5)])
def test_the_tail_is_five_percent_rounded_up(num_users: int, tail: int) -> None:
    values = np.arange(num_users, dtype=float)
    summary = fairness(values[::-1])
    assert summary.mean_lowest_5_percent == values[:tail].mean()
    assert summary.mean_highest_5_percent == values[-tail:].mean()


def test_k_larger_than_the_federation_averages_everybody() -> None:
    summary = fairness([1.0, 2.0, 6.0], k=5)
    assert summary.worst_k == summary.best_k == summary.average == 3.0


@given(distributions)
def test_bounds_and_order_hold(values: list[float]) -> None:
    summary, n = fairness(values), len(values)
    slack = 1e-9 * (1 + max(values))
    assert 1 / n - 1e-12 <= summary.jain <= 1
    assert 0 <= summary.entropy <= math.log(n)
    assert 1 / math.sqrt(n) - 1e-12 <= summary.cosine_to_uniform <= 1
    assert summary.min <= summary.percentile_5 <= summary.percentile_95 <= summary.max
    assert (
        summary.min
        <= summary.mean_lowest_5_percent
        <= summary.mean_highest_5_percent
        <= summary.max + slack
    )
    assert summary.worst_k <= summary.average + slack
    assert summary.average <= summary.best_k + slack
    assert summary.std <= (summary.max - summary.min) / 2 + slack


@given(distributions, st.floats(0, 1e3))
def test_raising_every_score_never_lowers_a_percentile(values: list[float], rise: float) -> None:
    low, high = fairness(values), fairness([value + rise for value in values])
    slack = 1e-9 * (1 + high.max)
    for name in ("percentile_5", "percentile_95", "mean_lowest_5_percent", "worst_k", "average"):
        assert getattr(low, name) <= getattr(high, name) + slack


@given(st.integers(1, 50), st.floats(0, 1e100, allow_subnormal=False))
def test_equal_scores_are_perfectly_even(num_users: int, value: float) -> None:
    summary = fairness([value] * num_users, weights=np.arange(1, num_users + 1))
    assert summary.std == summary.variance_unweighted == summary.variance_weighted == 0.0
    assert summary.average == summary.worst_k == summary.best_k == value
    assert summary.average_weighted == summary.percentile_5 == summary.percentile_95 == value
    assert summary.jain == summary.cosine_to_uniform == 1.0
    assert summary.entropy == pytest.approx(math.log(num_users))


@given(distributions, st.randoms(use_true_random=False))
def test_the_order_of_users_changes_no_bit(values: list[float], random: Random) -> None:
    weights = [1.0 + (3 * i) % 7 for i in range(len(values))]
    pairs = list(zip(values, weights, strict=True))
    random.shuffle(pairs)
    shuffled_values, shuffled_weights = zip(*pairs, strict=True)
    assert fairness(values, weights) == fairness(shuffled_values, shuffled_weights)


@given(distributions, st.floats(1e-3, 1e3))
def test_evenness_does_not_see_the_scale_and_moments_do(values: list[float], scale: float) -> None:
    plain, scaled = fairness(values), fairness([scale * value for value in values])
    for name in ("jain", "entropy", "cosine_to_uniform"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9, abs=1e-9)
    for name in ("average", "std", "percentile_5", "worst_k", "mean_highest_5_percent"):
        assert getattr(scaled, name) == relative(scale * getattr(plain, name), scale * plain.max)


@given(st.lists(st.tuples(scores, st.integers(1, 5)), min_size=1, max_size=20))
def test_an_integer_weight_counts_a_user_that_often(pairs: list[tuple[float, int]]) -> None:
    values, counts = zip(*pairs, strict=True)
    weighted, repeated = fairness(values, counts), fairness(np.repeat(values, counts))
    largest = max(values)
    assert weighted.average_weighted == relative(repeated.average, largest)
    assert weighted.variance_weighted == relative(repeated.variance_unweighted, largest**2)
    assert weighted.average == fairness(values).average


@given(distributions)
def test_without_weights_both_variances_agree(values: list[float]) -> None:
    summary = fairness(values)
    assert summary.variance_weighted == summary.variance_unweighted
    assert summary.variance_unweighted == relative(float(np.var(values)), max(values) ** 2)
    assert summary.std**2 == pytest.approx(summary.variance_unweighted)


def test_one_user_is_its_own_distribution() -> None:
    summary = fairness([0.4])
    assert summary.min == summary.max == summary.average == summary.percentile_95 == 0.4
    assert (summary.std, summary.jain, summary.entropy) == (0.0, 1.0, 0.0)


def test_one_user_having_everything_is_least_even() -> None:
    summary = fairness([0.0, 0.0, 7.0, 0.0])
    assert (summary.jain, summary.entropy, summary.cosine_to_uniform) == (0.25, 0.0, 0.5)


def test_nobody_having_anything_is_even() -> None:
    summary = fairness(np.zeros(4))
    assert (summary.jain, summary.cosine_to_uniform) == (1.0, 1.0)
    assert summary.entropy == math.log(4)


def test_evenness_of_negative_scores_is_undefined_and_the_rest_is_not() -> None:
    summary = fairness([-2.0, 1.0])
    assert summary.average == -0.5
    assert all(map(math.isnan, (summary.jain, summary.entropy, summary.cosine_to_uniform)))


def test_tiny_and_huge_scores_do_not_leave_the_number_range() -> None:
    assert fairness([1e-300, 3e-300]).jain == pytest.approx(0.8)
    assert fairness([1e150, 3e150]).jain == pytest.approx(0.8)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_missing_score_is_refused_with_its_position(bad: float) -> None:
    with pytest.raises(ValueError, match=f"got {bad} for the user at position 1; leave out"):
        fairness([0.5, bad, bad])


@pytest.mark.parametrize("values", [[], [[0.5]], 0.5])
def test_anything_but_a_vector_with_users_is_refused(values: object) -> None:
    with pytest.raises(ValueError, match=r"shape \(n,\) with n >= 1, got shape"):
        fairness(values)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"shape \(2,\), got \(1,\)"),
        ([1.0, -2.0], "got -2.0 for the user at position 1"),
        ([math.nan, 1.0], "got nan for the user at position 0"),
        ([0.0, 0.0], "positive sum"),
    ],
)
def test_invalid_weights_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fairness([0.1, 0.2], weights)


def test_k_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        fairness([0.5], k=0)


def test_the_input_is_not_changed_and_the_result_is_plain_numbers() -> None:
    values = np.array([0.3, 0.1, 0.2])
    summary = fairness(values)
    assert values.tolist() == [0.3, 0.1, 0.2]
    assert {type(value) for value in dataclasses.asdict(summary).values()} == {int, float}
