import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedmgda.paper.theory._problems import isotropic, quadratics, wells

PROBLEMS = [quadratics(0, 4, 5), wells(0, 4, 5), isotropic(0, 4, 5, 2.0)]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_gradients_are_those_of_the_losses(problem):
    point, step = np.linspace(-0.5, 0.7, 5), 1e-6
    slopes = [
        (problem.losses(point + step * e) - problem.losses(point - step * e)) / (2 * step)
        for e in np.eye(5)
    ]
    np.testing.assert_allclose(problem.gradients(point), np.transpose(slopes), atol=1e-8)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_one_point_per_user_gives_each_its_own_gradient(problem):
    points = np.random.default_rng(0).normal(size=(4, 5))
    rows = [problem.gradients(point)[i] for i, point in enumerate(points)]
    np.testing.assert_allclose(problem.gradients(points), rows)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.floats(0.01, 3.0))
def test_no_gradient_changes_faster_than_the_smoothness(seed, spread):
    rng = np.random.default_rng(seed)
    a, b = spread * rng.normal(size=(2, 5))
    for problem in PROBLEMS:
        change = np.linalg.norm(problem.gradients(a) - problem.gradients(b), axis=1)
        assert np.all(change <= problem.smoothness * np.linalg.norm(a - b) * (1 + 1e-9))


def test_no_gradient_of_a_well_is_longer_than_its_constant_and_one_is_as_long():
    problem = wells(0, 1, 1)
    line = problem.anchors[0] + np.linspace(-4, 4, 8001)[:, None]
    longest = max(float(np.abs(problem.gradients(point)).max()) for point in line)
    assert longest == pytest.approx(problem.lipschitz, abs=1e-6)
    assert longest <= problem.lipschitz


def test_the_smoothness_of_drawn_quadratics_is_one():
    assert quadratics(3, 5, 6).smoothness == pytest.approx(1.0)


def test_problems_depend_on_the_seed():
    assert not np.array_equal(quadratics(0, 2, 2).anchors, quadratics(1, 2, 2).anchors)
    np.testing.assert_array_equal(wells(0, 2, 2).anchors, wells(0, 2, 2).anchors)
