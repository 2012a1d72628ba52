from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import duality_gap, min_norm, project_onto_box, slope_gap
from unit.minnorm._asserts import box, linear_minimum

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(1, 15), st.sampled_from([0.01, 0.2, 0.5, 1.0]))
def test_the_gap_is_the_value_of_the_linear_program(seed: int, m: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    matrix, center = rng.normal(size=(m, 4)), rng.dirichlet(np.ones(m))
    lower, upper = box(center, epsilon, m)
    lam = project_onto_box(rng.dirichlet(np.ones(m)), lower, upper)
    slope = matrix @ (lam @ matrix)
    plain = lam @ slope - linear_minimum(slope, lower, upper)
    gap = duality_gap(matrix @ matrix.T, lam, center, epsilon)
    np.testing.assert_allclose(gap, plain, rtol=1e-9, atol=1e-12)


@given(SEEDS, st.integers(1, 15), st.sampled_from([0.01, 0.2, 0.5, 1.0]))
def test_the_slope_alone_tells_the_gap(seed: int, m: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    matrix, center = rng.normal(size=(m, 4)), rng.dirichlet(np.ones(m))
    lam = project_onto_box(rng.dirichlet(np.ones(m)), *box(center, epsilon, m))
    gramian = matrix @ matrix.T
    expected = duality_gap(gramian, lam, center, epsilon)
    found = slope_gap(gramian @ lam, lam, center, epsilon)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="lam must be feasible"):
        slope_gap(gramian @ lam, lam + 0.1, center, epsilon)


@given(SEEDS, st.integers(2, 15), st.sampled_from([0.01, 0.2, 0.5, 1.0]))
def test_the_gap_bounds_the_distance_to_the_best_direction(
    seed: int, m: int, epsilon: float
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, 4))
    gramian = matrix @ matrix.T
    lam = project_onto_box(rng.dirichlet(np.ones(m)), *box(None, epsilon, m))
    best = min_norm(gramian, None, epsilon)
    gap = duality_gap(gramian, lam, None, epsilon)
    norm_squared = lam @ gramian @ lam
    difference = (lam - best.lam) @ gramian @ (lam - best.lam)
    assert difference <= gap + 1e-12
    assert 0.5 * norm_squared - 0.5 * best.norm**2 <= gap + 1e-12


def test_the_gap_is_zero_at_the_optimum_and_positive_elsewhere() -> None:
    assert duality_gap(np.eye(4), np.full(4, 0.25)) == 0.0
    assert duality_gap(np.eye(4), np.array([1.0, 0.0, 0.0, 0.0])) == 1.0


def test_a_gap_of_huge_updates_does_not_overflow() -> None:
    gramian = np.diag([1e300, 1e300])
    assert duality_gap(gramian, np.array([0.75, 0.25])) == pytest.approx(0.375e300)


@pytest.mark.parametrize("lam", [[0.6, 0.6], [1.2, -0.2], [np.nan, 0.5]])
def test_infeasible_weights_have_no_gap(lam: list[float]) -> None:
    with pytest.raises(ValueError, match="lam must be feasible for this center and epsilon"):
        duality_gap(np.eye(2), np.array(lam))
