from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fedmgda.metrics import _pareto, pareto_residual
from fedmgda.values import DenseUpdates, FileUpdates

entries = st.floats(-10, 10, width=32).map(lambda x: 0.0 if abs(x) < 1e-3 else x)
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=entries)


def longest(gradients: np.ndarray) -> float:
    return float(np.linalg.norm(gradients, axis=1).max())


def test_values_checked_by_hand() -> None:
    assert pareto_residual(np.array([[3.0, 4.0]])) == 5.0
    assert pareto_residual(np.array([[1.0], [2.0], [3.0]])) == 1.0
    assert pareto_residual(np.eye(4)) == pytest.approx(0.5)
    assert pareto_residual(np.array([[1.0, 1.0], [-1.0, 1.0]])) == pytest.approx(1.0)


@given(matrices)
def test_it_is_at_most_every_gradient_and_their_mean(gradients: np.ndarray) -> None:
    residual, slack = pareto_residual(gradients), 1e-7 * longest(gradients)
    assert residual <= np.linalg.norm(gradients, axis=1).min() + slack
    assert residual <= np.linalg.norm(gradients.mean(axis=0)) + slack


@given(matrices, st.data())
def test_it_vanishes_if_zero_lies_in_the_hull(gradients: np.ndarray, data: st.DataObject) -> None:
    m = len(gradients)
    mix = data.draw(arrays(np.float64, m, elements=st.floats(0.1, 1)), label="mix")
    closing = -(mix / mix.sum()) @ gradients
    residual = pareto_residual(np.vstack([gradients, closing]))
    assert residual <= 1e-7 * longest(gradients)


@given(matrices, st.floats(0.1, 10))
def test_it_is_at_least_the_distance_of_a_separating_plane(
    gradients: np.ndarray, distance: float
) -> None:
    gradients[:, 0] = np.abs(gradients[:, 0]) + distance
    assert pareto_residual(gradients) >= distance * (1 - 1e-12)


@given(matrices, st.floats(1e-6, 1e6))
def test_it_scales_with_the_gradients(gradients: np.ndarray, scale: float) -> None:
    slack = 1e-7 * scale * longest(gradients)
    expected = scale * pareto_residual(gradients)
    assert pareto_residual(scale * gradients) == pytest.approx(expected, rel=1e-6, abs=slack)


@given(matrices)
def test_repeating_or_reordering_users_changes_nothing(gradients: np.ndarray) -> None:
    again = pareto_residual(np.vstack([gradients[::-1], gradients[:1]]))
    slack = 1e-7 * longest(gradients)
    assert again == pytest.approx(pareto_residual(gradients), rel=1e-6, abs=slack)


@given(matrices)
def test_a_further_user_never_raises_it(gradients: np.ndarray) -> None:
    fewer = pareto_residual(gradients[:-1]) if len(gradients) > 1 else longest(gradients)
    assert pareto_residual(gradients) <= fewer + 1e-7 * longest(gradients)


def test_on_isotropic_quadratics_it_is_the_distance_to_the_hull_of_the_minimisers() -> None:
    minimisers = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    assert pareto_residual(np.array([3.0, 3.0]) - minimisers) == pytest.approx(2 * 2**0.5)
    assert pareto_residual(np.array([0.5, 0.5]) - minimisers) == pytest.approx(0.0, abs=1e-7)


def test_blocks_do_not_change_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = np.random.default_rng(0).normal(size=(5, 103)).astype(np.float32)
    whole = pareto_residual(gradients)
    monkeypatch.setattr(_pareto, "_BLOCK", 10)
    assert pareto_residual(gradients) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (3,)])
def test_anything_but_a_row_per_user_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"shape \(m, d\) with m >= 1, got"):
        pareto_residual(np.zeros(shape))


def test_a_gradient_that_is_not_finite_is_refused_with_its_position() -> None:
    gradients = np.ones((3, 2))
    gradients[1, 1] = np.nan
    with pytest.raises(ValueError, match="the one at position 1 is not; leave that user out"):
        pareto_residual(gradients)


def test_gradients_in_a_file_have_the_residual_of_those_in_memory(tmp_path) -> None:
    rows = np.array([[3.0, 4.0, 0.0], [1.0, -1.0, 2.0], [0.5, 0.0, 1.0]], dtype=np.float32)
    stored = FileUpdates.write(tmp_path / "rows", rows, 3)
    assert pareto_residual(stored) == pytest.approx(pareto_residual(rows), rel=1e-6)
    assert pareto_residual(DenseUpdates(rows)) == pareto_residual(rows)


def test_a_file_without_gradients_or_with_a_bad_one_is_refused(tmp_path) -> None:
    rows = np.array([[1.0, 0.0], [np.nan, 1.0]], dtype=np.float32)
    stored = FileUpdates.write(tmp_path / "rows", rows, 2)
    with pytest.raises(ValueError, match="position 1 is not; leave that user out"):
        pareto_residual(stored)
    with pytest.raises(ValueError, match="at least one user, got none"):
        pareto_residual(stored.select(np.array([], dtype=np.int64)))
