from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import lsq_linear

from fedmgda.minnorm._dual import NearestWeights
from fedmgda.minnorm._projection import project_onto_box, project_onto_simplex

SEEDS = st.integers(0, 2**32)


def problem(seed: int, m: int, n: int, slack: float = 0.0) -> NearestWeights:
    """Return a problem that some weights satisfy."""
    rng = np.random.default_rng(seed)
    system, center = rng.normal(size=(m, n)), rng.normal(size=m)
    lower = rng.uniform(-1.0, 0.0, size=m)
    upper = lower + rng.uniform(0.1, 2.0, size=m)
    inside = lower + rng.uniform(0.1, 0.9, size=m) * (upper - lower)
    return NearestWeights(
        system=system,
        goal=inside @ system,
        center=center,
        lower=lower,
        upper=upper,
        slack=np.full(n, slack) if slack else None,
        give=rng.uniform(0.2, 5.0, size=m),
    )


@given(SEEDS, st.integers(2, 60), st.integers(1, 8))
def test_the_weights_are_feasible_and_nothing_feasible_is_nearer(seed: int, m: int, n: int) -> None:
    given_ = problem(seed, m, n)
    found, _ = given_.solve(np.zeros(n), 1e-13, 50)
    lam = found.lam
    assert found.miss <= 1e-10
    assert ((given_.lower <= lam) & (lam <= given_.upper)).all()
    # The multipliers prove it: whoever is off its bounds is where the prices pull it.
    assert given_.give is not None
    pulled = given_.center + given_.give * (given_.system @ found.prices)
    np.testing.assert_allclose(lam, np.clip(pulled, given_.lower, given_.upper), atol=1e-8)


@given(SEEDS, st.integers(3, 40))
def test_with_the_sum_alone_it_is_the_projection_onto_the_simplex(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    center = rng.normal(size=m)
    nearest = NearestWeights(
        system=np.ones((m, 1)),
        goal=np.ones(1),
        center=center,
        lower=np.zeros(m),
        upper=np.ones(m),
    )
    found, _ = nearest.solve(np.zeros(1), 1e-14, 50)
    np.testing.assert_allclose(found.lam, project_onto_simplex(center), atol=1e-12)
    box = project_onto_box(center, np.zeros(m), np.ones(m))
    np.testing.assert_allclose(found.lam, box, atol=1e-12)


@given(SEEDS, st.integers(2, 40), st.integers(1, 6), st.sampled_from([1e-3, 0.1, 10.0]))
def test_a_slack_weighs_distance_and_equations_as_least_squares_do(
    seed: int, m: int, n: int, slack: float
) -> None:
    nearest = problem(seed, m, n, slack)
    assert nearest.give is not None
    found, _ = nearest.solve(np.zeros(n), 1e-12, 50)
    root = 1.0 / np.sqrt(nearest.give)
    matrix = np.vstack((np.diag(root), nearest.system.T / np.sqrt(slack)))
    goal = np.concatenate((root * nearest.center, nearest.goal / np.sqrt(slack)))
    other = lsq_linear(
        matrix, goal, bounds=(nearest.lower, nearest.upper), method="bvls", tol=1e-14
    ).x
    np.testing.assert_allclose(found.lam, other, atol=1e-6)


@given(SEEDS, st.integers(2, 40), st.integers(1, 6))
def test_equations_that_say_the_same_twice_do_no_harm(seed: int, m: int, n: int) -> None:
    once = problem(seed, m, n)
    twice = NearestWeights(
        system=np.hstack((once.system, once.system)),
        goal=np.concatenate((once.goal, once.goal)),
        center=once.center,
        lower=once.lower,
        upper=once.upper,
        give=once.give,
    )
    alone, _ = once.solve(np.zeros(n), 1e-12, 50)
    both, _ = twice.solve(np.zeros(2 * n), 1e-12, 50)
    np.testing.assert_allclose(both.lam, alone.lam, atol=1e-7)


def test_a_contradiction_is_seen_and_not_pursued() -> None:
    nearest = NearestWeights(
        system=np.ones((5, 1)),
        goal=np.array([7.0]),
        center=np.full(5, 0.2),
        lower=np.zeros(5),
        upper=np.ones(5),
    )
    found, steps = nearest.solve(np.zeros(1), 1e-14, 50)
    assert steps <= 3
    assert found.miss == pytest.approx(2.0)


def test_weights_that_satisfy_the_equations_already_stay() -> None:
    center = np.full(4, 0.25)
    nearest = NearestWeights(
        system=np.ones((4, 1)), goal=np.ones(1), center=center, lower=0 * center, upper=4 * center
    )
    found, steps = nearest.solve(np.zeros(1), 1e-14, 50)
    assert steps == 0
    assert found.lam.tolist() == center.tolist()
