from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import _gramian, gramian, normalized_gramian

SEEDS = st.integers(0, 2**32)


def random_rows(m: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((m, d), dtype=np.float32)


@pytest.fixture(params=["float64 products", "float32 products"])
def _products(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "float32 products":
        monkeypatch.setattr(_gramian, "EXACT_PRODUCTS", 0)


@pytest.mark.usefixtures("_products")
@pytest.mark.parametrize(("m", "d"), [(1, 1), (1, 100_000), (7, 0), (20, 30_011), (300, 1_000)])
def test_it_is_the_matrix_of_inner_products_and_exactly_symmetric(m: int, d: int) -> None:
    rows = random_rows(m, d)
    matrix = gramian(rows)
    expected = rows.astype(np.float64) @ rows.astype(np.float64).T
    assert matrix.dtype == np.float64
    assert (matrix == matrix.T).all()
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-6 * max(d, 1))


def test_small_problems_are_exact_to_rounding() -> None:
    rows = random_rows(10, 50_000)
    expected = rows.astype(np.float64) @ rows.astype(np.float64).T
    np.testing.assert_allclose(gramian(rows), expected, rtol=0, atol=1e-15 * 50_000)


@pytest.mark.usefixtures("_products")
@given(SEEDS, st.integers(-120, 120), st.integers(-120, 120))
def test_scaling_a_row_by_a_power_of_two_scales_its_products_exactly(
    seed: int, first: int, second: int
) -> None:
    rows = random_rows(3, 40, seed) + np.float32(1.0)
    powers = np.array([first, second, 0])
    scaled = gramian(np.ldexp(rows, powers[:, None]).astype(np.float32))
    np.testing.assert_allclose(
        scaled, np.ldexp(gramian(rows), powers + powers[:, None]), rtol=1e-6, atol=0
    )


@pytest.mark.usefixtures("_products")
@pytest.mark.parametrize("value", [3e38, 1e-38, 1e-44])
def test_the_largest_and_smallest_floats_neither_overflow_nor_vanish(value: float) -> None:
    rows = np.full((2, 5000), value, dtype=np.float32)
    size = float(rows[0, 0])
    np.testing.assert_allclose(gramian(rows), 5000 * size**2, rtol=5e-6)
    matrix, norms = normalized_gramian(rows)
    np.testing.assert_allclose(matrix, 1.0, rtol=1e-6)
    np.testing.assert_allclose(norms, np.sqrt(5000) * size, rtol=1e-12)


def test_huge_float64_rows_can_be_normalised_but_not_multiplied() -> None:
    rows = np.array([[1e300, 0.0], [1.0, 1.0]])
    matrix, norms = normalized_gramian(rows)
    np.testing.assert_allclose(matrix, [[1.0, 0.5**0.5], [0.5**0.5, 1.0]], rtol=1e-15)
    np.testing.assert_allclose(norms, [1e300, 2**0.5], rtol=1e-15)
    with pytest.raises(ValueError, match="row 0 is not: drop it, or use normalized_gramian"):
        gramian(rows)


@pytest.mark.usefixtures("_products")
@given(SEEDS, st.integers(1, 12), st.integers(1, 400))
def test_the_normalised_diagonal_is_exactly_one_and_norms_are_accurate(
    seed: int, m: int, d: int
) -> None:
    rows = random_rows(m, d, seed)
    matrix, norms = normalized_gramian(rows)
    exact = rows.astype(np.float64)
    assert (np.diagonal(matrix) == 1.0).all()
    assert (matrix == matrix.T).all()
    assert (np.abs(matrix) <= 1.0).all()
    np.testing.assert_allclose(norms, np.linalg.norm(exact, axis=1), rtol=1e-14)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    np.testing.assert_allclose(matrix, unit @ unit.T, atol=2e-6)


@pytest.mark.usefixtures("_products")
def test_a_zero_row_has_norm_zero_and_zeros_in_the_matrix() -> None:
    rows = random_rows(3, 50)
    rows[1] = 0.0
    matrix, norms = normalized_gramian(rows)
    assert norms[1] == 0.0
    assert not matrix[1].any()
    assert not matrix[:, 1].any()
    assert matrix[0, 0] == matrix[2, 2] == 1.0


def test_no_float64_copy_of_the_matrix_is_made() -> None:
    rows = random_rows(100, 200_000)
    tracemalloc.start()
    normalized_gramian(rows[:40])
    normalized_gramian(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.2 * rows.nbytes


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_row_that_is_not_finite_is_named_and_spoils_no_other_norm(value: float) -> None:
    rows = np.array([[1e120, 1.0], [3.0, 4.0], [value, 1.0]])
    with pytest.raises(ValueError, match="row 2 is not"):
        gramian(rows)
    norms = normalized_gramian(rows)[1]
    np.testing.assert_allclose(norms[:2], [1e120, 5.0], rtol=1e-15)
    assert not np.isfinite(norms[2])


def test_integers_are_accepted_and_vectors_are_not() -> None:
    assert gramian(np.array([[1, 2], [3, 4]])).tolist() == [[5.0, 11.0], [11.0, 25.0]]
    with pytest.raises(ValueError, match=r"updates must have shape \(m, d\), got \(3,\)\."):
        gramian(np.zeros(3))


def test_the_input_is_not_changed() -> None:
    rows = np.full((2, 3), 1e38, dtype=np.float32)
    normalized_gramian(rows)
    assert (rows == np.float32(1e38)).all()
