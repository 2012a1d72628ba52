"""The quantile of Student's t that needs no package."""

import numpy as np
import pytest
from scipy import stats

from fedmgda.metrics import ONE_SIDED, t_quantile


def test_the_quantile_is_that_of_student():
    freedom = np.r_[1:200, 10**3, 10**6]
    right = stats.t.ppf(1 - ONE_SIDED, freedom)
    np.testing.assert_allclose(t_quantile(freedom), right, rtol=0.002)
    np.testing.assert_allclose(t_quantile([1, 2]), right[:2], rtol=1e-12)
    np.testing.assert_allclose(t_quantile(freedom[5:]), right[5:], rtol=1e-4)


def test_of_one_number_nothing_is_sure():
    assert t_quantile(0) == t_quantile(-1) == np.inf


@pytest.mark.parametrize("rows", [3, 10, 20])
def test_normal_differences_are_beyond_it_as_often_as_is_said(rows):
    d = np.random.default_rng(0).normal(size=(40_000, rows))
    beyond = d.mean(1) > t_quantile(rows - 1) * d.std(1, ddof=1) / np.sqrt(rows)
    assert beyond.mean() == pytest.approx(ONE_SIDED, abs=0.003)
