"""An accelerated projected gradient: a cheap guess of the support where users are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._projection import project_onto_box, project_onto_simplex

if TYPE_CHECKING:
    from fedmgda._types import Vector
    from fedmgda.minnorm._problem import GramProblem

__all__ = ["projected_gradient"]

STEPS = 60  # enough to find most of the support; the exact method does the rest
POWER_STEPS = 8


def projected_gradient(problem: GramProblem) -> Vector:
    """Return feasible weights, of shape `(m,)`, whose support is nearly that of the answer.

    A step costs one product with K, where an interior point costs a factorisation. The guess need
    not be good: whoever starts from it has a certificate to check.

    References:
        Beck and Teboulle (2009), with the restart of O'Donoghue and Candes (2015).
    """
    length = _step_length(problem)
    lam = ahead = problem.center
    momentum = 1.0
    for _ in range(STEPS):
        point = ahead - length * (problem.gramian @ ahead)
        if not np.isfinite(point).all():
            break
        moved = _projected(problem, point)
        if (ahead - moved) @ (moved - lam) > 0.0:  # the momentum points uphill: begin anew
            momentum = 1.0
        last, momentum = momentum, 0.5 + np.sqrt(0.25 + momentum**2)
        lam, ahead = moved, moved + (last - 1.0) / momentum * (moved - lam)
    return lam


def _step_length(problem: GramProblem) -> float:
    """Return nearly one over the largest curvature of K along steps that sum to zero.

    All steps do: what the updates have in common is not felt, so it does not shorten them.
    """
    vector = problem.gramian[int(problem.root.argmax())]
    size = 0.0
    for _ in range(POWER_STEPS):
        vector = vector - vector.mean()
        vector = problem.gramian @ (vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector - vector.mean()))
    return float(np.divide(0.95, size))


def _projected(problem: GramProblem, point: Vector) -> Vector:
    if problem.is_simplex:
        return project_onto_simplex(point)
    return project_onto_box(point, problem.lower, problem.upper)
