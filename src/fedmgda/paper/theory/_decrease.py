"""By how much every loss falls in one round."""

from __future__ import annotations

import numpy as np

from fedmgda.federation import Constant
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import Wells, quadratics
from fedmgda.paper.theory._runs import federation_of, run
from fedmgda.paper.theory._stationarity import gained
from fedmgda.rules import FedMGDA

__all__ = ["normalised_convergence", "normalised_step", "one_step_decrease"]


def one_step_decrease(seed: int, *, step: float = 1.0, num_rounds: int = 20) -> tuple[Check, ...]:
    """Check that no loss rises, and that every loss falls by at least η ‖d‖² / 2.

    Args:
        seed: Of the problem.
        step: η L; the promise needs at most 1, and above 2 losses may rise.
        num_rounds: How many rounds are looked at.
    """
    problem = quadratics(seed, 5, 6)
    federation = federation_of(problem, schedule=Constant(server_lr=step))
    done = run(federation, np.full(6, 2.0), num_rounds)
    losses = np.array([problem.losses(point) for point in done.params])
    promised = 0.5 * step * (done.directions**2).sum(axis=1, keepdims=True)
    setting = f"5 quadratics in R^6, L = 1, η = {step:g}/L, {num_rounds} rounds"
    rises = Place(
        claim="With exact gradients and η <= 1/L no user's loss rises in any round.",
        where="Section 5 (fairness), SPEC P3",
        problem=f"{setting}; largest rise",
    )
    falls = Place(
        claim="Every loss falls by η(1 - Lη/2)‖d‖² or more, hence by η‖d‖²/2.",
        where="proof of Theorem 1a, SPEC P3",
        problem=f"{setting}; largest shortfall",
    )
    rise = np.diff(losses, axis=0)
    return (
        at_most(rises, float(rise.max()), 1e-12 * float(losses.max())),
        at_most(falls, float((rise + promised).max()), 1e-12 * float(losses.max())),
    )


def normalised_step(seed: int, *, step: float = 0.5, smoothness: float = 1.0) -> tuple[Check, ...]:
    """Check what is left of the promise on normalised updates: short gradients can be overshot.

    Args:
        seed: Of the problem.
        step: η.
        smoothness: The L that the promise is computed with; the true one is 1.
    """
    problem = quadratics(seed, 5, 6)
    schedule = Constant(server_lr=step)
    done = run(federation_of(problem, rule=FedMGDA(), schedule=schedule), np.full(6, 2.0), 20)
    losses = np.array([problem.losses(point) for point in done.params])
    gradients = np.array([problem.gradients(point) for point in done.params[:-1]])
    lengths, squares = np.linalg.norm(gradients, axis=2), (done.directions**2).sum(axis=1)
    promised = (step * lengths - 0.5 * smoothness * step**2) * squares[:, None]
    place = Place(
        claim="Normalised: loss i falls by η‖g_i‖‖d‖² - Lη²‖d‖²/2 or more, so it may rise where "
        "‖g_i‖ < Lη/2.",
        where="Section 5 (normalization), SPEC P3",
        problem=f"5 quadratics in R^6, L = 1, η = {step:g}, 20 rounds; largest shortfall",
    )
    short = float((np.diff(losses, axis=0) + promised).max())
    return (at_most(place, short, 1e-12 * float(losses.max())),)


def normalised_convergence(*, step: float = 0.2, num_rounds: int = 200) -> tuple[Check, ...]:
    """Check that Theorem 1a survives normalisation where no gradient comes near 0.

    If no gradient is shorter than γ and η <= γ/L, every loss falls by ηγ‖d‖²/2 or more in a round
    (`normalised_step`), so that min ‖d‖² is at most 2 (f_i(w_0) - f_i(w_T)) / (γ Σ η).

    Args:
        step: η; the promise needs at most γ/L.
        num_rounds: T.
    """
    problem = Wells(anchors=np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]]))
    schedule = Constant(server_lr=step)
    start = np.array([0.8, 0.7])
    done = run(federation_of(problem, rule=FedMGDA(), schedule=schedule), start, num_rounds)
    lengths = [np.linalg.norm(problem.gradients(w), axis=1).min() for w in done.params[:-1]]
    shortest = float(min(lengths))
    smallest = np.minimum.accumulate((done.directions**2).sum(axis=1))
    bound = 2.0 * gained(problem, done.params).min(axis=1) / (shortest * np.cumsum(done.steps))
    setting = (
        f"3 Gaussian wells in R^2, L = 1, η = {step:g}, T = {num_rounds}; no gradient on the way "
        f"is shorter than γ = {shortest:.2g}"
    )
    needed = Place(
        claim="The premise of the next row: no gradient on the way is so short that η > γ/L.",
        where="after Theorem 2 (normalization), SPEC P3",
        problem=f"{setting}; η L / γ",
    )
    rate = Place(
        claim="Normalised: min ‖d‖² <= 2 (f_i(w_0) - f_i(w_T)) / (γ Σ η) for every user and T.",
        where="after Theorem 2 (normalization), SPEC P3",
        problem=setting,
        axes=("T", "min ‖d‖²"),
    )
    rounds = np.arange(1, num_rounds + 1)
    return at_most(needed, step / shortest, 1.0), along(rate, rounds, smallest, bound)
