"""By how much every loss falls in one round."""

from __future__ import annotations

import numpy as np

from fedmgda.federation import Constant
from fedmgda.paper.theory._check import Check, Place, at_most
from fedmgda.paper.theory._problems import quadratics
from fedmgda.paper.theory._runs import federation_of, run
from fedmgda.rules import FedMGDA

__all__ = ["normalised_step", "one_step_decrease"]


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
