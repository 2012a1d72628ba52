from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.linalg import null_space

from fedmgda.minnorm import min_norm
from unit.minnorm._asserts import box
from unit.minnorm._instances import FAMILIES

SINGULAR = ("more users than parameters", "rank one", "duplicates", "zero rows", "antiparallel")


@given(
    st.sampled_from(SINGULAR),
    st.integers(3, 12),
    st.integers(0, 2**32),
    st.sampled_from([0.05, 0.3, 1.0]),
)
def test_no_optimal_weights_are_nearer_the_center(
    name: str, m: int, seed: int, epsilon: float
) -> None:
    rng = np.random.default_rng(seed)
    rows, center = FAMILIES[name](rng, m), rng.dirichlet(np.ones(m))
    lam = min_norm(rows @ rows.T, center, epsilon).lam
    kernel = null_space(np.vstack((rows.T / max(np.abs(rows).max(), 1.0), np.ones(m))), rcond=1e-12)
    lower, upper = box(center, epsilon, m)
    for _ in range(20):  # steps that keep both the direction and the feasibility
        step = kernel @ rng.normal(size=kernel.shape[1])
        room = np.where(step > 0, upper - lam, lam - lower)
        length = np.min(room / np.maximum(np.abs(step), 1e-300))
        other = lam + max(length, 0.0) * step
        assert (center - lam) @ (other - lam) <= 1e-7 * np.linalg.norm(other - lam) + 1e-13


@pytest.mark.parametrize("m", [3, 10, 200])
def test_equal_users_keep_the_center(m: int) -> None:
    center = np.random.default_rng(m).dirichlet(np.ones(m))
    np.testing.assert_allclose(min_norm(np.ones((m, m)), center).lam, center, atol=1e-12)


def test_three_copies_of_one_user_share_its_weight_in_equal_parts() -> None:
    rows = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    lam = min_norm(rows @ rows.T).lam
    np.testing.assert_allclose(lam, [0.2, 0.8 / 3, 0.8 / 3, 0.8 / 3], atol=1e-13)


def test_copies_on_a_bound_of_the_box_share_what_the_box_allows() -> None:
    rows = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    center = np.array([0.2, 0.7, 0.1])
    lam = min_norm(rows @ rows.T, center, 0.5).lam
    np.testing.assert_allclose(lam, center, atol=1e-13)
