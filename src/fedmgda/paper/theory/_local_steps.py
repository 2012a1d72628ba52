"""Theorem 1b: several local steps, exact gradients, both learning rates tending to zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.federation import Harmonic
from fedmgda.minnorm import min_norm
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import wells
from fedmgda.paper.theory._runs import exact_weights, federation_of, run
from fedmgda.paper.theory._stationarity import gained

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import Matrix, Vector
    from fedmgda.paper.theory._problems import Wells
    from fedmgda.paper.theory._runs import Run

__all__ = ["local_steps", "weights_in_a_box"]

_WHERE = "Theorem 1b, SPEC P8"


def local_steps(
    seed: int, *, steps: int = 5, num_rounds: int = 100, believed: int | None = None
) -> tuple[Check, ...]:
    """Check the bound for k local steps, corrected and as printed.

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
    (exact, error), eta = weights, done.steps
    big_m, smooth = problem.lipschitz, problem.smoothness
    directions = np.array(
        [lam @ problem.gradients(w) for lam, w in zip(exact, done.params[:-1], strict=True)]
    )
    missed = np.linalg.norm(directions - done.directions, axis=1)
    smallest = np.minimum.accumulate((directions**2).sum(axis=1))
    gain = gained(problem, done.params).min(axis=1)
    price = np.cumsum(eta * (error + smooth * eta * error**2))
    outside = eta * np.cumsum(error + smooth * eta * error**2)
    bound, printed = (2.0 * (gain + big_m**2 * cost) / np.cumsum(eta) for cost in (price, outside))
    rounds = np.arange(1, len(eta) + 1)
    drifts, corrected, misprint = _places(setting)
    return (
        along(drifts, rounds, missed, big_m * error),
        along(corrected, rounds, smallest, bound),
        along(misprint, rounds, smallest**0.5, printed),
    )


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
            claim="As printed: min ‖Jλ‖, not squared, is below the bound, η_T outside the sum.",
            where=_WHERE,
            problem=setting,
            as_printed=True,
            axes=("T", "min ‖Jλ‖"),
        ),
    )
