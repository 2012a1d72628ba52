"""Which users the nearest step in a cone is tight for: two ways to find them, each from a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Flags, Indices, Vector
    from fedmgda.minnorm._cone_problem import ConeProblem

__all__ = ["block_pivot", "descend"]

EPS = float(np.finfo(np.float64).eps)
PROXIMAL = 1e-13  # keeps the linear systems solvable when C is singular; refinement removes it
REFINEMENTS = 6
MANY = 200  # users from which some gradient steps are cheaper than a factorisation they save
STEPS = 30
POWER_STEPS = 8
PATIENCE = 3  # exchanges of all wrong users at once that need not leave fewer of them wrong


def block_pivot(problem: ConeProblem, limit: int) -> tuple[Vector, int]:
    """Return y >= 0 of the last support that was tried, and how many were.

    On a support the equations Cy = q have one answer; whoever has y_i < 0 there, or a violated
    constraint elsewhere, is on the wrong side. All of them change sides at once, which mostly ends
    after a few exchanges; where it makes no progress, only the last of them does.

    References:
        Judice and Pires (1994); Kim and Park (2011).
    """
    tight = _guess(problem) if len(problem.demand) >= MANY else problem.demand > 0.0
    fewest, patience = len(tight) + 1, PATIENCE
    for step in range(1, limit + 1):
        y = _solved_on(problem, tight)
        wrong = np.where(tight, y < 0.0, problem.slack(y) < -4 * problem.noise(np.abs(y)))
        count = int(np.count_nonzero(wrong))
        if count == 0:
            return _refined(problem, y, tight), step
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        tight = tight ^ wrong
    return np.maximum(y, 0.0), step


def _guess(problem: ConeProblem) -> Flags:
    """Return the support after some accelerated projected gradient steps.

    It need not be right: whoever starts from it exchanges users until it is.

    References:
        Beck and Teboulle (2009), with the restart of O'Donoghue and Candes (2015).
    """
    largest = np.ones(len(problem.demand))
    for _ in range(POWER_STEPS):
        largest = problem.cosines @ largest
        largest /= np.linalg.norm(largest)
    length = 0.95 / max(float(largest @ problem.cosines @ largest), 1.0)
    y = ahead = np.zeros(len(largest))
    momentum = 1.0
    for _ in range(STEPS):
        moved = np.maximum(ahead - length * problem.slack(ahead), 0.0)
        if (ahead - moved) @ (moved - y) > 0.0:  # the momentum points uphill: begin anew
            momentum = 1.0
        last, momentum = momentum, 0.5 + np.sqrt(0.25 + momentum**2)
        y, ahead = moved, moved + (last - 1.0) / momentum * (moved - y)
    tight: Flags = y > 0.0
    return tight


def descend(problem: ConeProblem, y: Vector, tight: Flags, limit: int) -> tuple[Vector, int]:
    """Return the best y that a descent finds, and its number of steps.

    A step goes to the minimum on the support, or to the first y_i that becomes 0, which leaves the
    support. At a minimum the user whose constraint is violated most enters.

    Args:
        problem: The scaled problem.
        y: Of shape `(k,)`, >= 0, and 0 outside the support.
        tight: Of shape `(k,)`: the support.
        limit: The most steps to take, >= 1.

    References:
        Lawson and Hanson (1974), chapter 23.
    """
    tight = tight.copy()
    best, least = y, problem.error(y, problem.slack(y))
    for step in range(1, limit + 1):  # noqa: B007  the count is returned
        goal = _solved_on(problem, tight)
        if (goal[tight] < 0.0).any():
            y = _to_first_bound(y, goal, tight)
            continue
        y = _refined(problem, goal, tight)
        slack = problem.slack(y)
        error = problem.error(y, slack)
        if error < least:
            best, least = y, error
        outside = np.where(tight, np.inf, slack)
        worst = int(np.argmin(outside))
        if outside[worst] >= -4 * problem.noise(y):
            break
        tight[worst] = True
    return best, step


def _to_first_bound(y: Vector, goal: Vector, tight: Flags) -> Vector:
    """Go from y towards the goal until a coordinate is 0, and take it from the support."""
    falls = tight & (goal < 0.0)
    ratio = np.divide(y, y - goal, out=np.full(len(y), np.inf), where=falls)
    first = int(np.argmin(ratio))
    moved = np.where(tight, np.maximum(y + ratio[first] * (goal - y), 0.0), 0.0)
    moved[first] = 0.0
    tight[first] = False
    return moved


def _solved_on(problem: ConeProblem, tight: Flags) -> Vector:
    """Return y with Cy = q on the support, and 0 elsewhere."""
    index = np.flatnonzero(tight)
    y = np.zeros(len(tight))
    y[index] = _solved(problem, index, problem.demand[index])
    return y


def _refined(problem: ConeProblem, y: Vector, tight: Flags) -> Vector:
    """Take away, as far as that keeps y >= 0, what the proximal term left of the equations."""
    index = np.flatnonzero(tight)
    if not len(index):
        return y
    rest = problem.slack(y)[index]
    for _ in range(REFINEMENTS):
        if np.abs(rest).max() <= problem.noise(y):
            break
        better = y.copy()
        better[index] = np.maximum(y[index] - _solved(problem, index, rest), 0.0)
        left = problem.slack(better)[index]
        if not np.abs(left).max() < 0.5 * np.abs(rest).max():
            break
        y, rest = better, left
    return y


def _solved(problem: ConeProblem, index: Indices, goal: Vector) -> Vector:
    """Solve Cy = goal on the indexed users, with the proximal term."""
    matrix = problem.cosines.take(index, axis=0).take(index, axis=1)
    matrix.flat[:: len(index) + 1] += PROXIMAL
    try:
        return np.linalg.solve(matrix, goal)
    except np.linalg.LinAlgError:  # C is no Gram matrix; the certificate says what this is worth
        return np.zeros(len(index))
