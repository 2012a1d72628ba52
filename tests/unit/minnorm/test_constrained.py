from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import Status, min_norm, min_norm_constrained
from unit.minnorm._instances import WILD, instances


def box_as_rows(center: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    identity = np.eye(len(center))
    bounds = np.concatenate((center + epsilon, epsilon - center))
    return np.vstack((identity, -identity)), bounds


def test_the_box_is_a_special_case() -> None:
    for case in instances(360, seed=7, largest=40):
        m, top = len(case.rows), float(np.diagonal(case.gramian).max())
        center = np.full(m, 1.0 / m) if case.center is None else case.center
        rows, bounds = box_as_rows(center, case.epsilon)
        solution = min_norm_constrained(case.gramian, rows, bounds)
        assert (rows @ solution.lam - bounds <= 1e-9).all()
        assert (solution.lam >= 0).all()
        assert abs(solution.lam.sum() - 1.0) <= 1e-13
        assert solution.gap <= 1e-10 * top or top == 0.0
        if case.name not in WILD:
            expected = min_norm(case.gramian, center, case.epsilon).norm
            assert abs(solution.norm - expected) <= 1e-6 * np.sqrt(top)


@given(st.integers(0, 2**32), st.integers(2, 10), st.integers(1, 6))
def test_every_feasible_mixture_is_bounded_by_the_gap(seed: int, m: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(m, 5))
    gramian = matrix @ matrix.T
    inside = rng.dirichlet(np.ones(m), size=30)
    rows = rng.normal(size=(k, m)) * 10.0 ** rng.uniform(-3, 3, size=(k, 1))
    bounds = (rows @ inside.T).max(axis=1)
    solution = min_norm_constrained(gramian, rows, bounds)
    assert solution.status is Status.OPTIMAL
    assert (rows @ solution.lam - bounds <= 1e-9 * np.abs(rows).max(axis=1)).all()
    slope = gramian @ solution.lam
    assert (inside @ slope >= solution.norm**2 - solution.gap - 1e-9).all()
    assert min_norm(gramian).norm <= solution.norm + 1e-7


def test_without_rows_it_is_the_plain_problem() -> None:
    gramian = np.diag([1.0, 2.0, 4.0])
    solution = min_norm_constrained(gramian, np.zeros((0, 3)), np.zeros(0))
    np.testing.assert_allclose(solution.lam, min_norm(gramian).lam, atol=1e-12)
    assert solution.proves_common_descent


def test_a_preference_that_costs_a_user_proves_no_common_descent() -> None:
    matrix = np.array([[1.0, 0.0], [-0.9, np.sqrt(0.19)]])
    rows, bounds = np.array([[0.0, 1.0]]), np.array([0.1])
    solution = min_norm_constrained(matrix @ matrix.T, rows, bounds)
    np.testing.assert_allclose(solution.lam, [0.9, 0.1], atol=1e-12)
    assert solution.gap <= 1e-12
    assert not solution.proves_common_descent
    assert matrix[1] @ (solution.lam @ matrix) < 0


def test_an_equation_is_two_inequalities() -> None:
    rows = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])
    solution = min_norm_constrained(np.diag([1.0, 4.0, 4.0]), rows, np.zeros(2))
    np.testing.assert_allclose(solution.lam, [8 / 21, 8 / 21, 5 / 21], atol=1e-10)


@pytest.mark.parametrize(
    ("rows", "bounds", "sentence"),
    [
        ([[1.0, 1.0]], [0.0], r"constraints must have shape \(k, 3\) and bounds \(k,\), got"),
        ([[1.0, 1.0, 0.0]], [0.0, 1.0], r"constraints must have shape \(k, 3\)"),
        ([[1.0, np.inf, 0.0]], [0.0], "constraints and bounds must be finite"),
        ([[1.0, 1.0, 1.0]], [0.5], "must admit weights in the simplex, .* row 0 by 0.5"),
        ([[0.0, 0.0, 0.0]], [-1.0], "must admit weights in the simplex"),
        ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.4, 0.5], "must admit weights in the simplex"),
    ],
)
def test_wrong_or_contradictory_preferences_are_refused_in_one_sentence(
    rows: Any, bounds: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        min_norm_constrained(np.eye(3), np.array(rows), np.array(bounds))
