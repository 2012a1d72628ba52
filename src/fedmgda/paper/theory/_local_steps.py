"""Theorem 1b: several local steps, exact gradients, both learning rates tending to zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.federation import Harmonic
from fedmgda.minnorm import min_norm
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import Wells, wells
from fedmgda.paper.theory._runs import exact_weights, federation_of, run
from fedmgda.paper.theory._stationarity import gained

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import Matrix, Vector
    from fedmgda.paper.theory._runs import Run

__all__ = ["falling_steps", "local_steps", "weights_in_a_box"]

_WHERE = "Theorem 1b, SPEC P8"


def local_steps(
    seed: int, *, steps: int = 5, num_rounds: int = 100, believed: int | None = None
) -> tuple[Check, ...]:
    """Check the bound for k local steps, and with the norm not squared as printed.

    Args:
        seed: Of the problem.
        steps: k; the first is un-scaled, the others have the local learning rate 1/(100(t + 1)).
        num_rounds: T.
        believed: The k that the bounds are computed with; the true one if None.
    """
    problem = wells(seed, 4, 6)
    local_lr = 0.01 / np.arange(1.0, num_rounds + 1.0)
    federation = federation_of(
        problem,
        update=_several_steps(problem, local_lr, steps),
        schedule=Harmonic(curvature=2.0 * problem.smoothness),
    )
    done = run(federation, np.full(6, 0.35), num_rounds)
    exact = np.array([exact_weights(problem, point) for point in done.params[:-1]])
    drift = local_lr * ((believed or steps) - 1)
    error = np.linalg.norm(exact - done.lams, axis=1) * np.sqrt(problem.num_users) + drift
    setting = (
        f"4 Gaussian wells in R^6, L = 1, M = exp(-1/2), k = {steps}, local rate 1/(100(t + 1)), "
        f"η = 1/(L(t + 2)), T = {num_rounds}"
    )
    return _three_checks(problem, done, (exact, error), setting)


def falling_steps(*, later: float = 1e-4) -> tuple[Check, ...]:
    """Check where η stands in the bound: inside the sum, or outside it as printed, read as η_T.

    Three local steps of 5 throw the one user back beyond where it began: its loss rises in the
    first round by what that round's η lets it. The second has hardly a step, and with its η before
    the sum nothing is left to pay for the first.

    Args:
        later: η of the second round; the first has 1/2.
    """
    problem, steps = Wells(anchors=np.zeros((1, 1))), np.array([0.5, later])
    federation = federation_of(
        problem,
        update=_several_steps(problem, np.array([5.0, 0.0]), 3),
        schedule=lambda round_num, cohort: float(steps[round_num - 1]),  # noqa: ARG005
    )
    done = run(federation, np.ones(1), 2)
    smallest, inside, outside = _sides(problem, done, np.ones((2, 1)), np.array([10.0, 0.0]))
    setting = (
        "1 Gaussian well on the line, w_0 = 1, L = 1, M = exp(-1/2), k = 3, local rates 5 and 0, "
        f"η = 1/2 and {later:g}, T = 2"
    )
    places = (
        Place(
            claim="The bound with η_t inside the sum holds where η falls at once (norm squared).",
            where=_WHERE,
            problem=setting,
        ),
        Place(
            claim="As printed, η before the sum, read as the last: min ‖Jλ‖² is below the bound. "
            "On the wells of the rows above it is; here the bound is negative.",
            where=_WHERE,
            problem=setting,
            as_printed=True,
        ),
    )
    return tuple(
        at_most(place, float(smallest[-1]), float(bound[-1]))
        for place, bound in zip(places, (inside, outside), strict=True)
    )


def weights_in_a_box(*, epsilon: float = 0.05) -> tuple[Check, ...]:
    """Check the remark that a box of half-width ε keeps λ~ within 2 √m ε of λ."""
    matrix = np.diag([1e-4, 1.0, 1.0, 1.0])
    distance = np.linalg.norm(min_norm(matrix).lam - min_norm(matrix, epsilon=epsilon).lam)
    place = Place(
        claim="As printed: ‖λ - λ~‖ <= 2 √m ε with λ~ in the box. But λ is not in the box: "
        "the bound is only one between two points of the box.",
        where="after Theorem 1b, SPEC P8 and 9.28",
        problem=f"4 orthogonal gradients, one 100 times shorter, ε = {epsilon:g}",
        as_printed=True,
    )
    return (at_most(place, float(distance), 2.0 * np.sqrt(4.0) * epsilon),)


def _several_steps(problem: Wells, local_lr: Vector, steps: int) -> Callable[[Vector, int], Matrix]:
    def update(params: Vector, round_num: int) -> Matrix:
        points = params - problem.gradients(params)
        for _ in range(steps - 1):
            points = points - local_lr[round_num - 1] * problem.gradients(points)
        rows: Matrix = params - points
        return rows

    return update


def _three_checks(
    problem: Wells, done: Run, weights: tuple[Matrix, Vector], setting: str
) -> tuple[Check, ...]:
    exact, error = weights
    missed = np.linalg.norm(_directions(problem, done, exact) - done.directions, axis=1)
    smallest, bound, _ = _sides(problem, done, exact, error)
    rounds = np.arange(1, len(error) + 1)
    drifts, corrected, misprint = _places(setting)
    return (
        along(drifts, rounds, missed, problem.lipschitz * error),
        along(corrected, rounds, smallest, bound),
        along(misprint, rounds, smallest**0.5, bound),
    )


def _directions(problem: Wells, done: Run, exact: Matrix) -> Matrix:
    """Return J λ_t at w_0..w_{T-1}, of shape `(T, d)`."""
    return np.array(
        [lam @ problem.gradients(w) for lam, w in zip(exact, done.params[:-1], strict=True)]
    )


def _sides(
    problem: Wells, done: Run, exact: Matrix, error: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return min ‖Jλ‖² and its bounds for every T: η_t inside the sum, and η_T before it."""
    eta, big_m, smooth = done.steps, problem.lipschitz, problem.smoothness
    smallest = np.minimum.accumulate((_directions(problem, done, exact) ** 2).sum(axis=1))
    gain = gained(problem, done.params).min(axis=1)
    terms = error + smooth * eta * error**2
    inside, outside = (
        2.0 * (gain + big_m**2 * price) / np.cumsum(eta)
        for price in (np.cumsum(eta * terms), eta * np.cumsum(terms))
    )
    return smallest, inside, outside


def _places(setting: str) -> tuple[Place, Place, Place]:
    return (
        Place(
            claim="‖δ_t‖ <= M (ε_t √m + η^l (k - 1)): local steps miss the direction by no more.",
            where=_WHERE,
            problem=setting,
            axes=("round", "‖δ_t‖"),
        ),
        Place(
            claim="min ‖Jλ‖² is below the bound (corrected: norm squared, η_t inside the sum).",
            where=_WHERE,
            problem=setting,
            axes=("T", "min ‖Jλ‖²"),
        ),
        Place(
            claim="As printed: min ‖Jλ‖, not squared, is below the bound (η_t inside the sum).",
            where=_WHERE,
            problem=setting,
            as_printed=True,
            axes=("T", "min ‖Jλ‖"),
        ),
    )
