"""Theorem 1a: MGDA with one local step reaches Pareto stationarity, at a known rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.federation import Constant
from fedmgda.paper.theory._check import Check, Place, along
from fedmgda.paper.theory._problems import quadratics, wells
from fedmgda.paper.theory._runs import exact_weights, federation_of, run

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.paper.theory._problems import UserLosses, Wells
    from fedmgda.paper.theory._runs import Run

__all__ = ["exact_gradients", "gained", "noisy_gradients", "sampled_users"]

_WHERE = "Theorem 1a, SPEC P7"
_RUNS = 8


def exact_gradients(seed: int, *, step: float = 0.5, num_rounds: int = 100) -> tuple[Check, ...]:
    """Check the bound without noise, squared as the proof has it and un-squared as printed.

    Args:
        seed: Of the problem.
        step: η L; the theorem needs at most 1/2.
        num_rounds: T.
    """
    problem = quadratics(seed, 5, 6, scale=0.1)
    start = np.full(6, 0.2)
    done = run(federation_of(problem, schedule=Constant(server_lr=step)), start, num_rounds)
    smallest = np.minimum.accumulate((done.directions**2).sum(axis=1))
    bound = 2.0 * gained(problem, done.params).min(axis=1) / np.cumsum(done.steps)
    rounds = np.arange(1, num_rounds + 1)
    setting = f"5 quadratics in R^6, L = 1, all take part, η = {step:g}/L, T = {num_rounds}"
    proved = Place(
        claim="min ‖Jλ‖² is below the bound, for every user and T (corrected: the norm squared).",
        where=_WHERE,
        problem=setting,
        axes=("T", "min ‖Jλ‖²"),
    )
    printed = Place(
        claim="As printed in the appendix: min ‖Jλ‖, not squared, is below the bound.",
        where=_WHERE,
        problem=setting,
        as_printed=True,
        axes=("T", "min ‖Jλ‖"),
    )
    return along(proved, rounds, smallest, bound), along(printed, rounds, smallest**0.5, bound)


def noisy_gradients(
    seed: int, *, noise: float = 0.5, num_rounds: int = 50, believed: float | None = None
) -> tuple[Check, ...]:
    """Check the stochastic bound with noise of length ρ_t = noise / (t + 1)³ on every gradient.

    σ_t is known beforehand. If every gradient moves by at most ρ, the min-norm point d of their
    hull moves by at most √(ρ (2M + ρ)): both hulls hold points within ρ of the other's d, and
    both d meet ⟨x, d⟩ >= ‖d‖² on their own hull.

    Args:
        seed: Of the problem and of the noise.
        noise: ρ_0.
        num_rounds: T.
        believed: The ρ_0 that the bound is computed with; the true one if None.
    """
    problem = wells(seed, 4, 6)
    decay = np.arange(1.0, num_rounds + 1.0) ** -3.0
    runs = [_noisy_run(problem, seed, trial, noise * decay) for trial in range(_RUNS)]
    exact = np.array([_exact_directions(problem, done) for done in runs])
    errors = ((exact - np.array([done.directions for done in runs])) ** 2).sum(axis=2)
    rho = (noise if believed is None else believed) * decay
    sigma = np.sqrt(rho * (2.0 * problem.lipschitz + rho))
    setting = (
        f"4 Gaussian wells in R^6, L = 1, M = exp(-1/2), η = 1/(2L), T = {num_rounds}, "
        f"noise {noise:g}/(t + 1)³, {_RUNS} runs"
    )
    known = Place(
        claim="E ‖d - d̂‖² is at most ρ (2M + ρ) for noise of length ρ: σ_t is known beforehand.",
        where=_WHERE,
        problem=setting,
        axes=("round", "E ‖d - d̂‖²"),
    )
    rate = Place(
        claim="min E ‖Jλ‖² is below the bound with this σ_t, which tends to 0 (norm squared).",
        where=_WHERE,
        problem=setting,
        axes=("T", "min E ‖Jλ‖²"),
    )
    rounds = np.arange(1, num_rounds + 1)
    return (
        along(known, rounds, errors.mean(axis=0), sigma**2),
        along(rate, rounds, *_stochastic_bound(problem, runs, exact, sigma)),
    )


def sampled_users(seed: int, *, per_round: int = 2, num_rounds: int = 50) -> tuple[Check, ...]:
    """Check the bound where the noise is the choice of users, which does not vanish."""
    problem = wells(seed, 6, 6)
    schedule = Constant(server_lr=0.5)
    runs = [
        run(
            federation_of(problem, schedule=schedule, per_round=per_round, seed=seed + trial),
            np.full(6, 0.35),
            num_rounds,
        )
        for trial in range(_RUNS)
    ]
    exact = np.array([_exact_directions(problem, done) for done in runs])
    errors = ((exact - np.array([done.directions for done in runs])) ** 2).sum(axis=2)
    place = Place(
        claim="With sampled users min E ‖Jλ‖² is below the bound, which does not tend to 0.",
        where=_WHERE,
        problem=f"6 Gaussian wells in R^6, {per_round} of 6 users a round, σ_t measured "
        f"over {_RUNS} runs, η = 1/(2L), T = {num_rounds}",
        axes=("T", "min E ‖Jλ‖²"),
    )
    sigma = np.sqrt(errors.mean(axis=0))
    rounds = np.arange(1, num_rounds + 1)
    return (along(place, rounds, *_stochastic_bound(problem, runs, exact, sigma)),)


def gained(problem: UserLosses, params: Matrix) -> Matrix:
    """Return f_i(w_0) - f_i(w_t) for t = 1..T, of shape `(T, n)`."""
    losses = np.array([problem.losses(point) for point in params])
    fall: Matrix = losses[0] - losses[1:]
    return fall


def _noisy_run(problem: Wells, seed: int, trial: int, lengths: Vector) -> Run:
    def update(params: Vector, round_num: int) -> Matrix:
        noise = generator(seed, Stream.CLIENT, trial, round_num).normal(size=problem.anchors.shape)
        noise *= lengths[round_num - 1] / np.linalg.norm(noise, axis=1, keepdims=True)
        rows: Matrix = problem.gradients(params) + noise
        return rows

    federation = federation_of(problem, update=update, schedule=Constant(server_lr=0.5))
    return run(federation, np.full(6, 0.35), len(lengths))


def _exact_directions(problem: UserLosses, done: Run) -> Matrix:
    """Return J λ_t at w_0..w_{T-1} with the exact gradients of all users, of shape `(T, d)`."""
    return np.array(
        [exact_weights(problem, point) @ problem.gradients(point) for point in done.params[:-1]]
    )


def _stochastic_bound(
    problem: Wells, runs: list[Run], exact: Matrix, sigma: Vector
) -> tuple[Vector, Vector]:
    """Return the left and the right side of Theorem 1a for every T, expectations over the runs."""
    smallest = np.minimum.accumulate((exact**2).sum(axis=2).mean(axis=0))
    gain = np.mean([gained(problem, done.params) for done in runs], axis=0).min(axis=1)
    steps = runs[0].steps
    price = steps * (problem.lipschitz * sigma + problem.smoothness * steps * sigma**2)
    bound = 2.0 * (gain + np.cumsum(price)) / np.cumsum(steps)
    return smallest, bound
