"""The solver on the vectors themselves: the same answers as from their Gram matrix."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.linalg import null_space

from fedmgda.minnorm import (
    MinNormSolution,
    Status,
    duality_gap_of_rows,
    min_norm,
    min_norm_of_rows,
    prefers_rows,
)
from unit.minnorm._asserts import assert_feasible, box, linear_minimum
from unit.minnorm._instances import FAMILIES, WILD, Instance, instances

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

TAME = tuple(sorted(set(FAMILIES) - set(WILD)))
EPSILONS = st.sampled_from([0.001, 0.01, 0.1, 0.5, 1.0])
SHAPES = ("cancelling", "separated", "at the edge", "in pairs", "dependent", "of many lengths")


def crowd(shape: str, m: int, d: int, seed: int = 0) -> Matrix:
    """Return m vectors of length d, many more than they are long."""
    rng = np.random.default_rng(seed)
    drift = {"separated": 2.0, "at the edge": 0.3}.get(shape, 0.05)
    rows = rng.normal(size=(m, d)) + drift
    if shape == "in pairs":
        rows[1::2] = rows[: m - m % 2 : 2]
    if shape == "dependent":
        rows[:, d // 2 :] = rows[:, : d - d // 2] @ rng.normal(size=(d - d // 2, d - d // 2))
    if shape == "of many lengths":
        return rows * np.exp(2.0 * rng.normal(size=(m, 1)))
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def assert_certified(case: Instance, solution: MinNormSolution) -> None:
    """Check the certificate against d in plain arithmetic, apart from the solver."""
    lam, top = solution.lam, float((case.rows**2).sum(axis=1).max())
    assert_feasible(lam, case.center, case.epsilon)
    assert solution.status in (Status.CLOSED_FORM, Status.OPTIMAL)
    assert 0.0 <= solution.gap <= 1e-10 * top
    slope = case.rows @ (lam @ case.rows)
    plain_gap = lam @ slope - linear_minimum(slope, *box(case.center, case.epsilon, len(lam)))
    assert abs(plain_gap - solution.gap) <= 1e-12 * top
    again = duality_gap_of_rows(case.rows, lam, case.center, case.epsilon)
    assert abs(again - solution.gap) <= 1e-14 * top
    norm = float(np.linalg.norm(lam @ case.rows))
    assert solution.norm == pytest.approx(norm, rel=1e-12, abs=1e-15 * np.sqrt(top))
    if solution.proves_common_descent:
        assert (slope > 0.0).all()
        assert case.epsilon > 0.0 or len(lam) == 1


def assert_as_from_products(case: Instance, solution: MinNormSolution) -> None:
    """Compare ‖d‖ and λ with the answer from the Gram matrix, as far as that one knows them."""
    other = min_norm(case.gramian, case.center, case.epsilon)
    top = float(np.diagonal(case.gramian).max())
    # The Gram matrix knows ‖d‖² to rounding beside its largest entry, and d to the root of that.
    assert abs(solution.norm**2 - other.norm**2) <= 1e-9 * other.norm**2 + 1e-13 * top
    if other.norm**2 > 1e-5 * top:
        assert solution.norm == pytest.approx(other.norm, rel=1e-9)
    if case.name not in WILD:
        np.testing.assert_allclose(solution.lam, other.lam, atol=1e-5)


def check(count: int, seed: int, largest: int) -> None:
    for number, case in enumerate(instances(count, seed, largest)):
        try:
            solution = min_norm_of_rows(case.rows, case.center, case.epsilon)
            assert_certified(case, solution)
            assert_as_from_products(case, solution)
        except AssertionError as error:
            error.add_note(f"instance {number}: {case.name}, {case.rows.shape}, ε={case.epsilon}")
            raise


def test_every_instance_is_certified_and_agrees_with_the_gram_matrix() -> None:
    check(360, seed=20, largest=120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(21, 25))
def test_thousands_of_instances_are_certified_and_agree(seed: int) -> None:
    check(3060, seed=seed, largest=300)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [0.5 / 150, 0.1, 1.0])
def test_of_many_short_rows_the_same_weights_are_taken(shape: str, epsilon: float) -> None:
    rows = crowd(shape, 150, 12)
    center = np.random.default_rng(1).dirichlet(np.full(150, 4.0))
    solution = min_norm_of_rows(rows, center, epsilon)
    other = min_norm(rows @ rows.T, center, epsilon)
    np.testing.assert_allclose(solution.lam, other.lam, atol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert solution.proves_common_descent == other.proves_common_descent


@given(
    st.sampled_from(SHAPES),
    st.integers(20, 120),
    st.integers(1, 10),
    st.integers(0, 2**32),
    EPSILONS,
)
def test_no_optimal_weights_are_nearer_the_center(
    shape: str, m: int, d: int, seed: int, epsilon: float
) -> None:
    rng = np.random.default_rng(seed)
    rows, center = crowd(shape, m, d, seed), rng.dirichlet(np.ones(m))
    lam = min_norm_of_rows(rows, center, epsilon).lam
    assert_feasible(lam, center, epsilon)
    scale = np.linalg.norm(rows, axis=1).max()
    kernel = null_space(np.vstack((rows.T / scale, np.ones(m))), rcond=1e-12)
    lower, upper = box(center, epsilon, m)
    for _ in range(10):  # steps that keep both the direction and the feasibility
        step = kernel @ rng.normal(size=kernel.shape[1])
        room = np.where(step > 0, upper - lam, lam - lower)
        length = np.min(room / np.maximum(np.abs(step), 1e-300))
        other = lam + max(length, 0.0) * step
        assert (center - lam) @ (other - lam) <= 1e-7 * np.linalg.norm(other - lam) + 1e-13


@given(st.integers(30, 200), st.integers(1, 8), st.integers(0, 2**32))
def test_where_zero_is_in_the_hull_the_rows_cancel_to_rounding(m: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, d))
    rows -= rng.dirichlet(np.ones(m)) @ rows  # zero is a mixture with positive weights
    solution = min_norm_of_rows(rows)
    length = float(np.linalg.norm(rows, axis=1) @ solution.lam)
    assert solution.norm <= m * 2.0**-52 * length
    assert not solution.proves_common_descent


@given(st.sampled_from(SHAPES), st.integers(0, 2**32), EPSILONS)
def test_permuting_the_rows_permutes_the_weights(shape: str, seed: int, epsilon: float) -> None:
    rows = crowd(shape, 80, 6, seed)
    order = np.random.default_rng(seed).permutation(80)
    lam = min_norm_of_rows(rows, None, epsilon).lam
    permuted = min_norm_of_rows(rows[order], None, epsilon).lam
    np.testing.assert_allclose(permuted, lam[order], atol=1e-7)


@given(st.sampled_from(SHAPES), st.integers(-300, 300), EPSILONS)
def test_scaling_by_a_power_of_two_is_exact(shape: str, power: int, epsilon: float) -> None:
    rows = crowd(shape, 80, 6)
    plain = min_norm_of_rows(rows, None, epsilon)
    scaled = min_norm_of_rows(np.ldexp(rows, power), None, epsilon)
    assert scaled.lam.tolist() == plain.lam.tolist()
    assert scaled.norm == np.ldexp(plain.norm, power)


def test_rotating_the_rows_keeps_the_weights() -> None:
    rows = crowd("at the edge", 120, 7)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    lam, turned = min_norm_of_rows(rows).lam, min_norm_of_rows(rows @ turn).lam
    np.testing.assert_allclose(turned, lam, atol=1e-9)


def test_columns_that_say_nothing_change_nothing() -> None:
    rows = crowd("at the edge", 120, 7)
    padded = np.column_stack((rows, np.zeros((120, 3))))
    np.testing.assert_allclose(min_norm_of_rows(padded).lam, min_norm_of_rows(rows).lam, atol=1e-12)


def test_float32_rows_are_taken_as_they_are() -> None:
    rows = crowd("separated", 100, 5).astype(np.float32)
    solution = min_norm_of_rows(rows)
    assert solution.lam.tolist() == min_norm_of_rows(rows.astype(np.float64)).lam.tolist()
    assert solution.lam.dtype == np.float64


def test_ten_thousand_rows_need_no_matrix_of_their_number() -> None:
    rows = crowd("at the edge", 10_000, 20)
    tracemalloc.start()
    solution = min_norm_of_rows(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.status is Status.OPTIMAL
    assert solution.gap <= 1e-13
    assert peak <= 12 * rows.nbytes  # their Gram matrix is 500 times as large as they are


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32), EPSILONS)
def test_no_finite_rows_raise(m: int, d: int, seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-150, 150, size=(m, d))
    solution = min_norm_of_rows(rows, None, epsilon)
    assert_feasible(solution.lam, None, epsilon)
    assert np.isfinite([solution.gap, solution.norm]).all()


def test_epsilon_zero_returns_the_center_bit_for_bit() -> None:
    rows, center = crowd("cancelling", 90, 4), np.random.default_rng(0).dirichlet(np.ones(90))
    solution = min_norm_of_rows(rows, center, 0.0)
    assert solution.lam.tobytes() == center.tobytes()
    assert solution.status is Status.CLOSED_FORM


def test_the_gap_of_any_weights_is_that_of_the_gram_matrix() -> None:
    rows = crowd("at the edge", 70, 5)
    lam: Vector = np.random.default_rng(0).dirichlet(np.ones(70))
    slope = rows @ (rows.T @ lam)
    gap = duality_gap_of_rows(rows, lam)
    assert gap == pytest.approx(lam @ slope - slope.min(), rel=1e-12)
    with pytest.raises(ValueError, match="lam must be feasible"):
        duality_gap_of_rows(rows, 2 * lam)


def test_arguments_are_not_changed() -> None:
    rows = crowd("separated", 70, 5)
    before = rows.tobytes()
    min_norm_of_rows(rows)
    assert rows.tobytes() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.ones(3),), r"rows must have shape \(m, d\) with m, d >= 1, got \(3,\)\."),
        ((np.zeros((3, 0)),), r"rows must have shape .* got \(3, 0\)\."),
        ((np.array([[1.0], [np.nan]]),), "rows must be finite, row 1 is not: drop that user."),
        ((np.eye(2), None, 1.5), r"epsilon must lie in \[0, 1\], got 1\.5\."),
        ((np.eye(2), np.ones(3) / 3), r"center must have shape \(2,\), got \(3,\)\."),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(
    arguments: tuple[Any, ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        min_norm_of_rows(*arguments)


def test_rows_are_preferred_where_they_are_many_and_short() -> None:
    assert prefers_rows(1000, 26)
    assert prefers_rows(10_000, 100)
    assert not prefers_rows(64, 1)  # rounds of up to 64 participants keep the bits they had
    assert not prefers_rows(1000, 501)
