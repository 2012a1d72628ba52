"""Theorems of the paper on problems where every constant is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import nnls

from fedmgda.federation import Constant, Harmonic, UniformSampler
from fedmgda.metrics import pareto_residual
from fedmgda.rules import FedAvg, FedMGDA
from quadratics import Quadratics, run

seeds = st.integers(0, 2**32)


def projection_onto_hull(point, anchors):
    """Project with another method than ours: non-negative least squares, the sum as a heavy row."""
    weight = 1e5 * np.abs(anchors - point).max()
    system = np.vstack([(anchors - point).T, np.full(len(anchors), weight)])
    solution, _ = nnls(system, np.append(np.zeros(len(point)), weight), maxiter=10_000)
    return (solution / solution.sum()) @ anchors


def problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 12)), int(rng.integers(1, 8))
    return rng.normal(size=(n, d)), 4.0 * rng.normal(size=d), float(rng.uniform(0.2, 5.0))


@given(seeds)
def test_one_step_of_one_over_c_lands_on_the_projection_onto_the_hull(seed):
    anchors, start, c = problem(seed)
    federation = Quadratics(anchors, c).federation(schedule=Constant(server_lr=1.0 / c))
    states, records = run(federation, start, 2)
    goal = projection_onto_hull(start, anchors)
    np.testing.assert_allclose(states[1].params, goal, atol=1e-6)
    # The direction is c (w - projection), and at the projection there is nothing left to gain.
    np.testing.assert_allclose(records[0].aggregate.direction, c * (start - goal), atol=1e-5)
    np.testing.assert_allclose(states[2].params, states[1].params, atol=1e-6)
    assert pareto_residual(c * (states[1].params - anchors)) <= 1e-5


@given(seeds, st.floats(0.01, 1.0))
def test_every_loss_falls_by_at_least_what_smoothness_promises(seed, share):
    anchors, start, c = problem(seed)
    quadratics, step = Quadratics(anchors, c), share / c
    states, records = run(quadratics.federation(schedule=Constant(server_lr=step)), start, 3)
    for before, after, record in zip(states, states[1:], records, strict=False):
        promised = step * (1 - c * step / 2) * record.aggregate.norm**2
        fall = quadratics.losses(before.params) - quadratics.losses(after.params)
        assert np.all(fall >= promised - 1e-9 * (1 + quadratics.losses(before.params)))


@given(seeds, st.floats(0.01, 2.0))
def test_with_normalised_updates_a_loss_rises_by_no_more_than_the_step_explains(seed, step):
    # A user with a small gradient can be overshot: f falls by η‖g_i‖‖d‖² less cη²‖d‖²/2.
    anchors, start, c = problem(seed)
    quadratics = Quadratics(anchors, c)
    federation = quadratics.federation(FedMGDA(), schedule=Constant(server_lr=step))
    states, records = run(federation, start, 3)
    for before, after, record in zip(states, states[1:], records, strict=False):
        norm = record.aggregate.norm
        gradients = c * np.linalg.norm(before.params - anchors, axis=1)
        promised = step * gradients * norm**2 - c * step**2 * norm**2 / 2
        fall = quadratics.losses(before.params) - quadratics.losses(after.params)
        assert np.all(fall >= promised - 1e-9 * (1 + quadratics.losses(before.params)))


@given(seeds)
def test_the_rate_of_theorem_2_holds_along_the_run(seed):
    anchors, start, c = problem(seed)
    # Every user grows quadratically with l = c, and the iterates stay in a ball, so that M is the
    # largest gradient on the segment from the start to the hull.
    federation = Quadratics(anchors, c).federation(schedule=Harmonic(curvature=c))
    states, _ = run(federation, start, 30)
    largest = max(c * np.linalg.norm(s.params - anchors, axis=1).max() for s in states)
    for server in states[1:]:
        t = server.round_num
        distance = np.linalg.norm(server.params - projection_onto_hull(server.params, anchors))
        assert distance**2 <= 4 * largest**2 / (c**2 * (t + 3)) + 1e-9


@given(seeds)
def test_with_partial_participation_the_rate_of_theorem_2_still_holds(seed):
    anchors, start, c = problem(seed)
    n = len(anchors)
    federation = Quadratics(anchors, c).federation(
        schedule=Harmonic(curvature=c),
        sampler=UniformSampler(num_clients=n, per_round=max(n // 2, 1)),
        seed=seed,
    )
    states, _ = run(federation, start, 30)
    largest = max(c * np.linalg.norm(s.params - anchors, axis=1).max() for s in states)
    final = states[-1]
    distance = np.linalg.norm(final.params - projection_onto_hull(final.params, anchors))
    assert distance**2 <= 4 * largest**2 / (c**2 * (final.round_num + 3)) + 1e-9


@given(seeds)
def test_the_bound_of_theorem_1a_holds_without_noise(seed):
    anchors, start, c = problem(seed)
    quadratics, step, rounds = Quadratics(anchors, c), 0.5 / c, 20
    states, records = run(quadratics.federation(schedule=Constant(server_lr=step)), start, rounds)
    smallest = min(record.aggregate.norm**2 for record in records)
    gained = quadratics.losses(states[0].params) - quadratics.losses(states[-1].params)
    assert np.all(smallest <= 2 * gained / (rounds * step) + 1e-9)


@given(seeds)
def test_fedavg_with_one_full_step_is_gradient_descent_on_the_mean(seed):
    anchors, start, c = problem(seed)
    client_lr = 0.5 / c
    quadratics = Quadratics(anchors, c, client_lr=client_lr)
    states, _ = run(quadratics.federation(FedAvg()), start, 10)
    params = start
    for server in states[1:]:
        params = params - client_lr * c * (params - anchors).mean(axis=0)
        np.testing.assert_allclose(server.params, params, atol=1e-12 * (1 + np.abs(start).max()))


def test_dependent_gradients_are_not_pareto_stationary():
    # The paper says m > d makes every point stationary in one iteration; three gradients on the
    # same side of zero are dependent and still share a descent direction.
    anchors = np.array([[-1.0], [-2.0], [-3.0]])
    _, records = run(Quadratics(anchors).federation(), np.zeros(1), 1)
    assert records[0].aggregate.direction == pytest.approx([1.0])


def test_normalised_updates_do_not_depend_on_the_client_step():
    anchors = np.random.default_rng(0).normal(size=(5, 3))
    directions = []
    for client_lr in (0.001, 0.1, 1.0):
        federation = Quadratics(anchors, client_lr=client_lr).federation(FedMGDA())
        directions.append(run(federation, np.full(3, 4.0), 1)[1][0].aggregate.direction)
    np.testing.assert_allclose(directions[0], directions[2], atol=1e-9)
    np.testing.assert_allclose(directions[1], directions[2], atol=1e-9)
