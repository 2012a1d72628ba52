from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import Status, min_norm
from unit.minnorm._asserts import assert_feasible, box, kkt_residual
from unit.minnorm._instances import FAMILIES, WILD

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

TAME = sorted(set(FAMILIES) - set(WILD))
EPSILONS = st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0])


@st.composite
def rows(draw: st.DrawFn, names: tuple[str, ...] = tuple(TAME), smallest: int = 1) -> Matrix:
    family = FAMILIES[draw(st.sampled_from(names))]
    m = draw(st.integers(smallest, 12))
    return family(np.random.default_rng(draw(st.integers(0, 2**32))), m)


@st.composite
def centers(draw: st.DrawFn, m: int) -> Vector:
    shares = draw(st.lists(st.integers(0, 5), min_size=m, max_size=m).filter(any))
    return np.array(shares) / sum(shares)


@given(rows(tuple(FAMILIES)), EPSILONS, st.data())
def test_weights_are_feasible_and_the_gap_is_small(
    matrix: Matrix, epsilon: float, data: st.DataObject
) -> None:
    center = data.draw(st.none() | centers(len(matrix)))
    gramian = matrix @ matrix.T
    solution = min_norm(gramian, center, epsilon)
    assert_feasible(solution.lam, center, epsilon)
    assert solution.gap <= 1e-10 * np.diagonal(gramian).max()


@given(rows(), EPSILONS, st.data())
def test_the_optimality_conditions_hold(
    matrix: Matrix, epsilon: float, data: st.DataObject
) -> None:
    center = data.draw(st.none() | centers(len(matrix)))
    gramian = matrix @ matrix.T
    lam = min_norm(gramian, center, epsilon).lam
    residual = kkt_residual(gramian, lam, *box(center, epsilon, len(lam)))
    assert residual <= 1e-9 * np.diagonal(gramian).max()


@given(rows(), EPSILONS, st.randoms(use_true_random=False))
def test_permuting_the_users_permutes_the_weights(
    matrix: Matrix, epsilon: float, random: Any
) -> None:
    order = np.array(random.sample(range(len(matrix)), len(matrix)))
    lam = min_norm(matrix @ matrix.T, None, epsilon).lam
    permuted = min_norm(matrix[order] @ matrix[order].T, None, epsilon).lam
    scale = np.linalg.norm(matrix, axis=1).max()
    assert np.linalg.norm(permuted @ matrix[order] - lam @ matrix) <= 1e-7 * scale


@given(rows(("common", "unit", "duplicates", "rank one", "antiparallel")), EPSILONS, st.randoms())
def test_permuting_the_users_permutes_the_weights_where_they_are_well_defined(
    matrix: Matrix, epsilon: float, random: Any
) -> None:
    order = np.array(random.sample(range(len(matrix)), len(matrix)))
    lam = min_norm(matrix @ matrix.T, None, epsilon).lam
    permuted = min_norm(matrix[order] @ matrix[order].T, None, epsilon).lam
    np.testing.assert_allclose(permuted, lam[order], atol=1e-8)


@given(rows(("common", "unit", "conflicting", "ratio 1e4"), smallest=2), st.data())
def test_a_duplicated_user_shares_its_weight_and_changes_nothing_else(
    matrix: Matrix, data: st.DataObject
) -> None:
    twin = data.draw(st.integers(0, len(matrix) - 1))
    doubled = np.concatenate((matrix, matrix[twin : twin + 1]))
    alone, shared = min_norm(matrix @ matrix.T), min_norm(doubled @ doubled.T)
    scale = np.linalg.norm(matrix, axis=1).max()
    assert np.linalg.norm(shared.lam @ doubled - alone.lam @ matrix) <= 1e-9 * scale
    assert abs(shared.lam[twin] - shared.lam[-1]) <= 1e-7


@given(rows())
def test_a_wider_box_never_gives_a_longer_direction(matrix: Matrix) -> None:
    norms = [min_norm(matrix @ matrix.T, None, epsilon).norm for epsilon in np.linspace(0, 1, 9)]
    scale = np.linalg.norm(matrix, axis=1).max()
    assert (np.diff(norms) <= 1e-8 * scale).all()


@given(rows(("common", "unit", "duplicates", "antiparallel")), EPSILONS, st.floats(1e-30, 1e30))
def test_scaling_the_matrix_keeps_the_weights(
    matrix: Matrix, epsilon: float, factor: float
) -> None:
    gramian = matrix @ matrix.T
    lam, scaled = min_norm(gramian, None, epsilon), min_norm(factor * gramian, None, epsilon)
    np.testing.assert_allclose(scaled.lam, lam.lam, atol=1e-8)
    np.testing.assert_allclose(scaled.norm, np.sqrt(factor) * lam.norm, atol=1e-7 * factor**0.5)


@given(rows(tuple(FAMILIES)), st.integers(0, 40))
def test_scaling_by_a_power_of_four_is_exact(matrix: Matrix, power: int) -> None:
    gramian = matrix @ matrix.T
    plain, scaled = min_norm(gramian), min_norm(np.ldexp(gramian, 2 * power))
    assert scaled.lam.tolist() == plain.lam.tolist()
    assert scaled.norm == np.ldexp(plain.norm, power)


@given(rows(tuple(FAMILIES)), st.data())
def test_epsilon_zero_returns_the_center_bit_for_bit(matrix: Matrix, data: st.DataObject) -> None:
    center = data.draw(centers(len(matrix)))
    solution = min_norm(matrix @ matrix.T, center, 0.0)
    assert solution.lam.tobytes() == center.tobytes()
    assert solution.gap == 0.0
    assert solution.status is Status.CLOSED_FORM


def test_epsilon_zero_without_a_center_is_exactly_uniform() -> None:
    assert min_norm(np.eye(7), None, 0.0).lam.tolist() == [1 / 7] * 7


@given(st.integers(2, 12), st.integers(0, 2**32))
def test_an_interior_optimum_is_the_normalised_solution_of_the_linear_system(
    m: int, seed: int
) -> None:
    matrix = np.random.default_rng(seed).normal(size=(m, 4 * m)) / 4 + np.eye(m, 4 * m) * 4
    gramian = matrix @ matrix.T
    direct = np.linalg.solve(gramian, np.ones(m))
    if (direct >= 0).all():
        np.testing.assert_allclose(min_norm(gramian).lam, direct / direct.sum(), atol=1e-12)


def test_the_example_of_the_specification_has_its_values() -> None:  # SPEC P2
    third = np.array([-0.9, np.sqrt(1 - 0.81)])
    matrix = np.stack(([1.0, 0.0], [1.0, 0.0], third))
    inner = {
        epsilon: third @ (min_norm(matrix @ matrix.T, None, epsilon).lam @ matrix)
        for epsilon in (0.0, 0.1, 1 / 6, 0.5, 1.0)
    }
    assert inner[0.0] == pytest.approx(-0.267, abs=5e-4)
    assert inner[0.1] == pytest.approx(-0.077, abs=5e-4)
    for epsilon in (1 / 6, 0.5, 1.0):
        assert inner[epsilon] == pytest.approx(0.05, abs=1e-12)


def test_dependent_users_on_one_side_still_have_a_direction() -> None:
    solution = min_norm(np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]))
    assert solution.norm == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(solution.lam, [1.0, 0.0, 0.0], atol=1e-15)
    assert solution.proves_common_descent


def test_one_user_has_all_the_weight() -> None:
    for epsilon in (0.0, 0.3, 1.0):
        solution = min_norm(np.array([[4.0]]), None, epsilon)
        assert solution.lam.tolist() == [1.0]
        assert solution.norm == 2.0
        assert solution.proves_common_descent


@given(st.floats(-1.0, 1.0), st.sampled_from([0.01, 0.5, 1.0]))
def test_two_unit_vectors_get_one_half_each(cosine: float, epsilon: float) -> None:
    solution = min_norm(np.array([[1.0, cosine], [cosine, 1.0]]), None, epsilon)
    assert solution.lam.tolist() == [0.5, 0.5]


def test_two_equal_users_keep_the_center() -> None:
    center = np.array([0.3, 0.7])
    assert min_norm(np.ones((2, 2)), center).lam.tolist() == center.tolist()
    almost_one = 1.0 - 2.0**-53
    rounded = np.array([[1.0, almost_one], [almost_one, 1.0]])
    assert min_norm(rounded, center).lam.tolist() == center.tolist()


def test_two_nearly_equal_users_are_still_told_apart() -> None:
    rows = np.array([1.0 + 2.0**-27, 1.0 - 2.0**-27])  # the curvature of this K rounds to zero
    assert min_norm(np.outer(rows, rows)).lam.tolist() == [0.0, 1.0]


def test_two_users_of_wildly_different_norms_are_solved_to_full_precision() -> None:
    solution = min_norm(np.array([[1e-20, -1e-5], [-1e-5, 1e30]]))
    np.testing.assert_allclose(solution.lam, [1.0, 1e-35], rtol=1e-14)


@pytest.mark.parametrize("copies", [1, 2, 10])
def test_antiparallel_users_stop_each_other(copies: int) -> None:
    matrix = np.array([[3.0, 4.0], [-3.0, -4.0]] * copies)
    solution = min_norm(matrix @ matrix.T)
    assert solution.norm <= 1e-7
    np.testing.assert_allclose(solution.lam, 0.5 / copies, atol=1e-12)
    assert not solution.proves_common_descent


def test_a_zero_user_takes_all_the_weight_if_it_may() -> None:
    gramian = np.diag([1.0, 0.0, 2.0])
    np.testing.assert_allclose(min_norm(gramian).lam, [0.0, 1.0, 0.0], atol=1e-12)
    lam = min_norm(gramian, None, 0.1).lam
    np.testing.assert_allclose(lam[1], 1 / 3 + 0.1, atol=1e-15)


def test_a_box_that_cuts_the_simplex_proves_nothing_for_all_users() -> None:
    assert min_norm(np.eye(3), None, 1.0).proves_common_descent
    assert min_norm(np.eye(3), None, 2 / 3).proves_common_descent
    assert not min_norm(np.eye(3), None, 0.5).proves_common_descent


@given(st.integers(1, 8), st.integers(0, 2**32), EPSILONS)
def test_no_finite_matrix_raises(m: int, seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    gramian = rng.normal(size=(m, m)) * 10.0 ** rng.uniform(-150, 150, size=(m, m))
    solution = min_norm(gramian, None, epsilon)
    assert_feasible(solution.lam, None, epsilon)
    assert np.isfinite([solution.gap, solution.norm]).all()


def test_float32_noise_in_the_matrix_is_no_obstacle() -> None:
    matrix = np.random.default_rng(0).normal(size=(40, 9)).astype(np.float32) + np.float32(0.5)
    gramian = (matrix @ matrix.T).astype(np.float64)
    assert np.linalg.eigvalsh(gramian).min() < -1e-8
    assert min_norm(gramian).status is Status.OPTIMAL


def test_arguments_are_not_changed() -> None:
    gramian, center = np.diag([1.0, 2.0, 3.0]), np.array([0.2, 0.3, 0.5])
    min_norm(gramian, center, 0.4)
    assert gramian.tolist() == np.diag([1.0, 2.0, 3.0]).tolist()
    assert center.tolist() == [0.2, 0.3, 0.5]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.ones((2, 3)),), r"gramian must have shape \(m, m\) with m >= 1, got \(2, 3\)\."),
        ((np.eye(2) * 1j,), "gramian must be real, got an array of complex128"),
        ((np.eye(2), np.array([0.5, 0.5 + 0j])), "center must be real"),
        ((np.zeros((0, 0)),), r"gramian must have shape .* got \(0, 0\)\."),
        ((np.array([[1.0, np.nan], [0.0, 1.0]]),), "gramian must be finite, got nan at row 0"),
        ((np.eye(2), None, 1.5), r"epsilon must lie in \[0, 1\], got 1\.5\."),
        ((np.eye(2), None, -0.1), r"epsilon must lie in \[0, 1\], got -0\.1\."),
        ((np.eye(2), None, np.nan), r"epsilon must lie in \[0, 1\], got nan\."),
        ((np.eye(2), np.ones(3) / 3), r"center must have shape \(2,\), got \(3,\)\."),
        ((np.eye(2), np.array([1.5, -0.5])), "center must be finite and >= 0, got .* -0.5"),
        ((np.eye(2), np.array([0.5, 0.6])), "center must sum to 1, got 1.1"),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(
    arguments: tuple[Any, ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        min_norm(*arguments)
