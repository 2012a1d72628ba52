"""What is rounding, and what is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from cohorts import RULES, aggregate, cohort_of, cohorts
from fedmgda.rules import FedAvg, FedMGDA
from fedmgda.values import NO_DIRECTION, Weighing, aggregate as combine


def exactly(values):
    return [Fraction(float(value)) for value in values]


def exact_products(rows, weights):
    """⟨g_i, Σ w_k g_k⟩ without any rounding."""
    exact = [exactly(row) for row in rows]
    direction = [
        sum(weight * row[column] for weight, row in zip(exactly(weights), exact, strict=True))
        for column in range(rows.shape[1])
    ]
    return [sum(a * b for a, b in zip(row, direction, strict=True)) for row in exact]


@settings(max_examples=40)
@given(
    cohorts(max_clients=6, max_params=8, dtype=np.float32),
    st.integers(0, 2**32),
    st.sampled_from([1.0, 1e-6, 1e-30]),
)
def test_no_product_is_further_from_the_exact_one_than_the_bound(cohort, seed, scale):
    rows = cohort.updates.rows * np.float32(scale)
    weights = np.random.default_rng(seed).uniform(-1, 1, len(rows))
    weights[-1] = -weights[:-1].sum()  # sums of duplicates cancel
    small = cohort_of(rows, dtype=np.float32)
    result = combine(small, Weighing(weights=weights, lam=weights))
    for inner, exact, bound in zip(
        result.inner, exact_products(rows, weights), result.rounding, strict=True
    ):
        assert abs(Fraction(float(inner)) - exact) <= Fraction(float(bound))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", [True, False])
def test_many_clients_with_few_parameters_stall_and_sacrifice_nobody(dtype, normalize):
    rows = np.random.default_rng(0).normal(size=(160, 6)) + 0.1
    result = FedMGDA(normalize=normalize).aggregate(cohort_of(rows, dtype=dtype))
    assert result.inner.min() < 0, "rounding has a sign"
    assert result.stalled
    assert result.sacrificed == ()


def test_a_sacrifice_in_a_step_that_leads_somewhere_is_none_of_rounding():
    result = FedAvg().aggregate(cohort_of([[1.0, 0.0], [1.0, 0.0], [-0.01, 0.001]]))
    assert not result.stalled
    assert result.sacrificed == (2,)


def test_orthogonal_clients_are_not_sacrificed_by_a_rounded_direction():
    rng = np.random.default_rng(1)
    first = rng.normal(size=1000)
    second = rng.normal(size=1000)
    second -= first * (first @ second) / (first @ first)  # orthogonal but for rounding
    for sign in (1.0, -1.0):
        cohort = cohort_of([first, sign * second], dtype=np.float32)
        result = combine(cohort, Weighing(weights=np.array([1.0, 0.0]), lam=np.array([1.0, 0.0])))
        assert result.sacrificed == () or result.inner[1] < -1e-7 * np.sqrt(1000 * 1000)
    exact = combine(
        cohort_of([[1.0, 1e-9], [-1e-9, 1.0]], dtype=np.float32),
        Weighing(weights=np.array([1.0, 0.0]), lam=np.array([1.0, 0.0])),
    )
    assert exact.inner[1] <= 0
    assert exact.sacrificed == ()


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_whether_a_round_stalls_does_not_depend_on_units(name, scale):
    rows = np.random.default_rng(3).normal(size=(5, 40)) + 1.0
    rule = RULES[name]
    if scale < 1 and name != "fedavg":
        scale = 1e-6  # the floor under which an update is zero is absolute
    assert not aggregate(rule, cohort_of(rows * scale)).stalled


def test_updates_that_cancel_but_for_a_little_are_a_stall():
    rest = 0.9 * NO_DIRECTION
    for part, stalled in ((rest, True), (4 * rest, False)):
        cohort = cohort_of([[1.0, part], [-1.0, part]])
        assert FedAvg().aggregate(cohort).stalled is stalled


def test_a_long_update_beside_a_short_one_is_no_stall():
    # The shortest vector of the hull is nearly the short row, and a fine direction.
    result = FedMGDA(normalize=False).aggregate(cohort_of([[1e8, 0.0], [0.0, 1.0]]))
    assert result.norm == pytest.approx(1.0)
    assert not result.stalled


def test_zero_updates_of_everybody_are_a_stall():
    assert FedAvg().aggregate(cohort_of(np.zeros((3, 2)))).stalled
    assert FedMGDA().aggregate(cohort_of(np.zeros((3, 2)))).stalled


def test_nan_is_a_sacrifice_and_no_stall():
    result = FedAvg().aggregate(cohort_of([[np.nan, 1.0], [1.0, 1.0]]))
    assert not result.stalled
    assert result.sacrificed == (0, 1)


def test_a_direction_that_is_no_sum_is_held_against_the_longest_update():
    cohort = cohort_of([[3.0, 4.0], [0.0, 1.0]])
    none = np.zeros(2)
    for length, stalled in ((1.0, False), (4 * NO_DIRECTION, True)):
        weighing = Weighing(weights=none, lam=none, direction=np.array([length, 0.0]))
        assert combine(cohort, weighing).stalled is stalled
