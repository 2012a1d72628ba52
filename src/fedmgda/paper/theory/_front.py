"""Two wells whose Pareto front is concave: what MGDA reaches there and no average does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.metrics import pareto_residual
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import Wells
from fedmgda.paper.theory._runs import federation_of, run
from fedmgda.rules import FedAvg

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.rules import Rule

__all__ = ["concave_front"]

_HALF = 1.5  # the minima are at -1.5 and 1.5 on the first axis
_STARTS, _ROUNDS = 24, 100
_WEIGHTS = np.arange(1, 8) / 8.0  # λ0 of the first user, the second has the rest
_WHERE = "after Theorem 2 (nonconvex users), SPEC P4"


def concave_front(seed: int, *, swapped: bool = False) -> tuple[Check, ...]:
    """Check that MGDA ends on all of the Pareto set, and FedAvg at its ends, whatever λ0 is.

    The Pareto set is the segment between the minima at ±a. Where a mixture of the gradients
    vanishes at s on it, the second derivative of that mixture along it has the sign of
    1 - (a² - s²): where that is negative it is a saddle, which averaging leaves from almost every
    start. So FedAvg ends no farther than a - √(a² - 1) from a minimum where a > 1.

    Args:
        seed: Of the starts.
        swapped: Whether each is tried for what is claimed of the other.
    """
    problem = Wells(anchors=np.array([[-_HALF, 0.0], [_HALF, 0.0]]))
    rng = generator(seed, Stream.SYNTHETIC, 8)
    starts = rng.uniform((-_HALF, -1.0), (_HALF, 1.0), size=(_STARTS, 2))
    averages = [FedAvg(center=(lam, 1.0 - lam)) for lam in _WEIGHTS.tolist()]
    common = _ends(problem, starts, averages[0] if swapped else None)
    averaged = [
        _from_minimum(problem, _ends(problem, starts, None if swapped else rule))
        for rule in averages
    ]
    reach = _HALF - np.sqrt(_HALF**2 - 1.0)
    deepest = np.sort(_from_minimum(problem, common))[_STARTS // 2 :]
    stationary, average, mgda = _places()
    residual = max(pareto_residual(problem.gradients(end)) for end in common)
    return (
        at_most(stationary, residual, 1e-5),
        along(average, _WEIGHTS, np.max(averaged, axis=1), np.full(len(_WEIGHTS), reach)),
        at_most(mgda, reach, float(deepest[0])),
    )


def _ends(problem: Wells, starts: Matrix, rule: Rule | None) -> Matrix:
    federation = federation_of(problem, rule=rule)
    return np.array([run(federation, start, _ROUNDS).params[-1] for start in starts])


def _from_minimum(problem: Wells, points: Matrix) -> Vector:
    """Return how far points are from the nearest user's minimum."""
    gaps = points[:, None, :] - problem.anchors[None]
    distances: Vector = np.linalg.norm(gaps, axis=2).min(axis=1)
    return distances


def _places() -> tuple[Place, Place, Place]:
    setting = (
        f"2 Gaussian wells in R^2, minima 3 apart, {_STARTS} starts about them, η = 1/L, "
        f"{_ROUNDS} rounds"
    )
    return (
        Place(
            claim="MGDA ends at Pareto stationary points where the front is concave.",
            where=_WHERE,
            problem=f"{setting}; largest ω = min ‖Jλ‖",
        ),
        Place(
            claim="FedAvg ends near the minimum of one user, whatever λ0 is: at the others a "
            "mixture of the losses has no minimum.",
            where=_WHERE,
            problem=f"{setting}; the farthest end from a minimum, λ0 from 1/8 to 7/8",
            axes=("λ0 of the first user", "distance from a minimum"),
        ),
        Place(
            claim="MGDA ends at such others: half of its ends are farther from both minima than "
            "FedAvg can end with any λ0.",
            where=_WHERE,
            problem=f"{setting}; how far FedAvg can end, and the 12th farthest of MGDA's ends",
        ),
    )
