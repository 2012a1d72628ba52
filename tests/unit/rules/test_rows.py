import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import cohort_of
from fedmgda.minnorm import row_norms
from fedmgda.rules import FedAvg, FedMGDA

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(-30, 1020))
def test_a_norm_grows_with_its_row_by_every_power_of_two(seed, power):
    updates = np.random.default_rng(seed).uniform(-1, 1, size=(3, 5))
    np.testing.assert_allclose(
        row_norms(np.ldexp(updates, power)), np.ldexp(row_norms(updates), power), rtol=1e-15
    )


@given(SEEDS)
def test_a_square_beyond_float64_costs_no_client_its_say(seed):
    updates = np.random.default_rng(seed).normal(size=(4, 3))
    inflated = updates.copy()
    inflated[0] *= 2.0**900
    for rule in (FedMGDA(), FedMGDA(epsilon=0.1), FedAvg(normalize=True)):
        one, other = (rule.aggregate(cohort_of(rows)) for rows in (updates, inflated))
        np.testing.assert_allclose(other.direction, one.direction, atol=1e-12)
        assert other.inner[0] == pytest.approx(np.ldexp(one.inner[0], 900), rel=1e-6, abs=1e260)


def test_inner_products_of_terms_beyond_float64_keep_their_value_or_their_sign():
    huge = 2.0**700  # a power of two: nothing is rounded
    result = FedAvg().aggregate(cohort_of([[huge, huge], [huge, -3.0 * huge]]))
    assert result.direction.tolist() == [huge, -huge]
    assert result.inner.tolist() == [0.0, np.inf]
    assert result.norm == pytest.approx(np.sqrt(2.0) * huge)


def test_a_partial_sum_beyond_float64_hides_no_sacrifice():
    # d is 1e154 everywhere; the terms of ⟨g_0, d⟩ are 1e308 twice, then -1.5e308 twice.
    sacrificed = [1e154, 1e154, -1.5e154, -1.5e154]
    result = FedAvg().aggregate(cohort_of([sacrificed, [1e154, 1e154, 3.5e154, 3.5e154]]))
    assert result.inner[0] == pytest.approx(-1e308)
    assert result.sacrificed == (0,)


@pytest.mark.parametrize("row", [[np.nan, 0.0], [np.inf, 0.0], [1.7e308, 1.7e308]])
def test_what_has_no_finite_norm_is_not_normalised(row):
    with pytest.raises(ValueError, match=r"The update of client 1 has norm (nan|inf), which"):
        FedAvg(normalize=True).aggregate(cohort_of([[1.0, 0.0], row]))
