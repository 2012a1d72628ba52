"""Sums that clients can send: exact, whoever adds them and in whatever order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.data import sums_of
from fedmgda.data.own._sums import add_sums

NUMBERS = st.lists(st.floats(-1e29, 1e29, allow_subnormal=False), min_size=1, max_size=40)


def exact(values):
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers) / len(numbers)
    return mean, sum((number - mean) ** 2 for number in numbers) / len(numbers)


@given(NUMBERS)
def test_mean_and_deviation_are_those_of_exact_arithmetic(values):
    mean, variance = exact(values)
    largest = max(map(abs, values)) or 1.0
    sums = sums_of(np.array(values))
    assert sums.mean == pytest.approx(float(mean), rel=1e-15, abs=1e-30 * largest)
    assert sums.deviation == pytest.approx(math.sqrt(variance), rel=1e-12, abs=1e-15 * largest)


@given(NUMBERS, st.integers(0, 40), st.randoms(use_true_random=False))
def test_the_sums_of_parts_add_up_to_those_of_the_whole(values, cut, random):
    whole = sums_of(np.array(values))
    shuffled = random.sample(values, len(values))
    parts = [sums_of(np.array(part)) for part in (shuffled[:cut], shuffled[cut:])]
    added = add_sums(parts)
    assert added.count == whole.count
    assert added.mean == pytest.approx(whole.mean, rel=1e-15)
    scale = max(map(abs, values))
    assert added.deviation == pytest.approx(whole.deviation, rel=1e-12, abs=1e-15 * scale)


@pytest.mark.parametrize("mean", [0.0, 1e9, -1e12])
def test_a_small_deviation_beside_a_large_mean_is_not_lost(mean):
    values = mean + np.random.default_rng(0).choice([-1.0, 1.0], 1000)
    assert sums_of(values).deviation == pytest.approx(values.std(), rel=1e-9)
    # What the naive formula makes of it.
    if mean:
        naive = (values**2).mean() - values.mean() ** 2
        assert abs(naive - 1.0) > 0.01


def test_missing_numbers_do_not_count():
    sums = sums_of(np.array([np.nan, 1.0, 3.0]))
    assert (sums.count, sums.mean, sums.deviation) == (2, 2.0, 1.0)
    nothing = sums_of(np.array([np.nan]))
    assert (nothing.count, nothing.mean, nothing.deviation) == (0, 0.0, 0.0)
