from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import project_onto_box, project_onto_simplex
from unit.minnorm._asserts import box

SEEDS = st.integers(0, 2**32)
POINTS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20).map(np.array)


def test_the_released_code_gets_this_one_wrong() -> None:
    assert project_onto_simplex(np.array([1.4, 0.25])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "point", [[1e30, 0.0, -1e30], [1.7e308, -1.7e308, 1.6e308], [1e300, 1e299, 0.0]]
)
def test_one_dominating_entry_is_that_vertex(point: list[float]) -> None:
    assert project_onto_simplex(np.array(point)).tolist() == [1.0, 0.0, 0.0]


def test_equal_huge_entries_share() -> None:
    assert project_onto_simplex(np.array([1e308, -1e308, 1e308])).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf])
def test_a_point_that_is_not_finite_is_refused(junk: float) -> None:
    with pytest.raises(ValueError, match=f"point must be finite, got {junk} in coordinate 1"):
        project_onto_simplex(np.array([0.0, junk]))


@given(POINTS)
def test_the_projection_is_in_the_simplex(point: np.ndarray) -> None:
    lam = project_onto_simplex(point)
    assert (lam >= 0).all()
    assert abs(lam.sum() - 1.0) <= 1e-14 * len(lam)


@given(POINTS)
def test_the_residual_is_constant_on_the_support_and_smaller_off_it(point: np.ndarray) -> None:
    lam = project_onto_simplex(point)
    residual = point - lam
    shift = residual[lam > 0]
    scale = 1.0 + np.abs(point).max()
    assert np.ptp(shift) <= 1e-12 * scale
    assert (residual[lam == 0] <= shift.min() + 1e-12 * scale).all()


@given(POINTS)
def test_projecting_twice_is_projecting_once(point: np.ndarray) -> None:
    lam = project_onto_simplex(point)
    np.testing.assert_allclose(project_onto_simplex(lam), lam, atol=1e-15)


@given(SEEDS, st.integers(1, 20))
def test_a_box_of_half_width_one_is_no_box(seed: int, m: int) -> None:
    point = np.random.default_rng(seed).normal(size=m)
    np.testing.assert_allclose(
        project_onto_box(point, np.zeros(m), np.ones(m)), project_onto_simplex(point), atol=1e-13
    )


@given(SEEDS, st.integers(1, 20), st.sampled_from([0.0, 0.01, 0.3]))
def test_no_feasible_point_is_nearer_than_the_projection(seed: int, m: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = box(rng.dirichlet(np.ones(m)), epsilon, m)
    point, give = rng.normal(size=m), rng.uniform(0.1, 1.0, size=m)
    lam = project_onto_box(point, lower, upper, give)
    assert (lam >= lower).all()
    assert (lam <= upper).all()
    assert abs(lam.sum() - 1.0) <= 1e-13
    for _ in range(5):
        other = project_onto_box(rng.normal(size=m), lower, upper)
        assert (point - lam) / give @ (other - lam) <= 1e-11
