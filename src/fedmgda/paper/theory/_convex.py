"""Theorem 2: strongly convex users and sampled cohorts, on problems whose Pareto set is a hull."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.federation import Constant, Harmonic
from fedmgda.metrics import pareto_residual
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import isotropic
from fedmgda.paper.theory._runs import federation_of, run

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.federation import Schedule

__all__ = ["lands_on_the_projection", "rate", "recursion", "sum_in_proof"]

_WHERE = "Theorem 2, SPEC P9"
_CURVATURE = 2.0
_PER_ROUND = 2
_GROWTH = _CURVATURE * (1.0 + 1.0 / _PER_ROUND)
"""The theorem's c: users are 2-strongly convex, and one of two participants has λ >= 1/2."""
_RUNS = 8
_AXES = ("t", "E ‖w - w*‖²")
_SETTING = "8 isotropic quadratics of curvature 2 in R^5, 2 of 8 users a round, c = 3"


def lands_on_the_projection(seed: int, *, step: float = 1.0) -> tuple[Check, ...]:
    """Check that one step of 1/c from anywhere ends on the nearest Pareto point.

    A point is the projection of w onto the hull iff it is a mixture of the a_i and no a_i lies
    beyond it as seen from w. Both are tested on the point reached.

    Args:
        seed: Of the problem.
        step: In units of 1/c.
    """
    problem, start = isotropic(seed, 6, 4, _CURVATURE), np.full(4, 3.0)
    schedule = Constant(server_lr=step / _CURVATURE)
    done = run(federation_of(problem, schedule=schedule), start, 1)
    point, away = done.params[1], start - done.params[1]
    outside = np.linalg.norm(point - done.lams[0] @ problem.anchors)
    beyond = float(((problem.anchors - point) @ away).max() / np.linalg.norm(away))
    place = Place(
        claim="One step of 1/c lands on the projection onto the convex hull of the minimisers.",
        where="Section 5 (MGDA), SPEC P9",
        problem=f"6 isotropic quadratics in R^4, η = {step:g}/c",
    )
    return (at_most(place, max(float(outside), beyond), 1e-9),)


def rate(seed: int, *, growth: float = _GROWTH, num_rounds: int = 40) -> tuple[Check, ...]:
    """Check the 1/t rate with η_t = 2/(c(t + 2)), from the first round on and, as printed, before.

    Args:
        seed: Of the problem and of the sampling.
        growth: c, in the steps and in the bound.
        num_rounds: T.
    """
    squares, big_m = _distances(seed, Harmonic(curvature=growth), num_rounds)
    times = np.arange(num_rounds + 1.0)
    bound = 4.0 * big_m**2 / (growth**2 * (times + 3.0))
    place = Place(
        claim="E ‖w_t - w*_t‖² <= 4M²/(c²(t + 3)) for t >= 1 (corrected: not for t = 0).",
        where=_WHERE,
        problem=f"{_SETTING}, η = 2/(c(t + 2)), T = {num_rounds}, {_RUNS} runs",
        axes=_AXES,
    )
    printed = Place(
        claim="As printed, without t >= 1: E ‖w_0 - w*_0‖² <= 4M²/(3c²) already at the start.",
        where=_WHERE,
        problem=place.problem,
        as_printed=True,
    )
    return (
        along(place, times[1:], squares[1:], bound[1:]),
        at_most(printed, float(squares[0]), float(bound[0])),
    )


def recursion(seed: int, *, step: float = 0.1, num_rounds: int = 40) -> tuple[Check, ...]:
    """Check the bound for any step sizes, with π_t = ∏(1 - cη_s) and with the printed ∏ η_s.

    Args:
        seed: Of the problem and of the sampling.
        step: η c, constant.
        num_rounds: T.
    """
    eta = step / _GROWTH
    squares, big_m = _distances(seed, Constant(server_lr=eta), num_rounds)
    corrected, printed = (
        _bounds(float(squares[0]), (factor, step), (eta * big_m) ** 2, num_rounds)
        for factor in (1.0 - step, eta)
    )
    setting = f"{_SETTING}, η = {step:g}/c, T = {num_rounds}, {_RUNS} runs"
    places = (
        Place(
            claim="E ‖w_t - w*_t‖² is below the bound with π_t = ∏(1 - cη_s) (corrected).",
            where=_WHERE,
            problem=setting,
            axes=_AXES,
        ),
        Place(
            claim="As printed: E ‖w_t - w*_t‖² is below the bound with π_t = ∏ η_s.",
            where=_WHERE,
            problem=setting,
            as_printed=True,
            axes=_AXES,
        ),
    )
    rounds = np.arange(1, num_rounds + 1)
    return (
        along(places[0], rounds, squares[1:], corrected),
        along(places[1], rounds, squares[1:], printed),
    )


def sum_in_proof(*, num_terms: int = 100_000) -> tuple[Check, ...]:
    """Check the inequality that turns the recursion into the rate."""
    t = np.arange(float(num_terms))
    sums = np.cumsum((t + 1.0) / (t + 2.0))
    place = Place(
        claim="∑_{s<=t} (s + 1)/(s + 2) <= (t + 1)(t + 2)/(t + 4), equal at t = 0.",
        where="proof of Theorem 2, SPEC P9",
        problem=f"t = 0 to {num_terms - 1}",
    )
    ratio = float((sums / ((t + 1.0) * (t + 2.0) / (t + 4.0))).max())
    return (at_most(place, ratio, 1.0),)


def _distances(seed: int, schedule: Schedule, num_rounds: int) -> tuple[Vector, float]:
    """Return E ‖w_t - w*_t‖² for t = 0..T over runs, and M on the region they stay in.

    A step of at most 1/curvature moves towards a point of the hull, so no iterate leaves the hull
    of w_0 and the a_i; there a gradient is at most curvature times its diameter.
    """
    problem, start = isotropic(seed, 8, 5, _CURVATURE), np.full(5, 10.0)
    corners = np.vstack([start, problem.anchors])
    big_m = _CURVATURE * max(float(np.linalg.norm(corners - a, axis=1).max()) for a in corners)
    runs = [
        run(
            federation_of(problem, schedule=schedule, per_round=_PER_ROUND, seed=seed + trial),
            start,
            num_rounds,
        )
        for trial in range(_RUNS)
    ]
    squares = [_squared_distances(done.params, problem.anchors) for done in runs]
    return np.mean(squares, axis=0), big_m


def _squared_distances(params: Matrix, anchors: Matrix) -> Vector:
    return np.array([pareto_residual(point - anchors) ** 2 for point in params])


def _bounds(first: float, factors: tuple[float, float], noise: float, num_rounds: int) -> Vector:
    """Return π_t (1 - cη_0) first + ∑ (π_t / π_s) η_s² M² for t = 0..T-1, with equal steps.

    Args:
        first: ‖w_0 - w*_0‖².
        factors: What π_t grows by in each round, and cη.
        noise: η² M².
        num_rounds: T.
    """
    growth, step = factors
    values = [(1.0 - step) * first + noise]
    for _ in range(num_rounds - 1):
        values.append(growth * values[-1] + noise)
    return np.array(values)
