"""The min-norm problem of many short vectors: the work follows their length, not their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm._dual import NearestWeights
from fedmgda.minnorm._row_problem import RowProblem
from fedmgda.minnorm._solve import best_of, certified, only_center, segment
from fedmgda.minnorm._ties import nearest_to_center

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Matrix, Vector
    from fedmgda.minnorm._solution import MinNormSolution
    from fedmgda.minnorm._start import Start

__all__ = ["min_norm_of_rows", "prefers_rows"]

EPS = float(np.finfo(np.float64).eps)
MANY = 64  # vectors up to which the Gram matrix costs nothing worth saving
LONGEST = 0.5  # of their number: longer vectors rarely cancel, and then the Gram matrix is faster
CANCEL_STEPS = 25  # more are needed only where zero is at the edge of the hull
SLACK_STEPS = 50
SLACKS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # over the width of the box, until the bounds settle


def prefers_rows(num_rows: int, num_columns: int) -> bool:
    """Tell whether `min_norm_of_rows` is the better choice for vectors of this number and length.

    >>> prefers_rows(1000, 26), prefers_rows(1000, 10**6), prefers_rows(10, 2)
    (True, False, False)
    """
    return num_rows > MANY and num_columns <= LONGEST * num_rows


def min_norm_of_rows(
    rows: Matrix, center: Vector | None = None, epsilon: float = 1.0
) -> MinNormSolution:
    """Return what `min_norm` returns for the Gram matrix of the rows, which is never formed.

    The same problem with the same choice among several optimal λ and the same certificate, at the
    cost of some products of d x m with m x d numbers: for m much larger than d.

    Args:
        rows: Of shape `(m, d)`, finite; row i is g_i.
        center: Of shape `(m,)`, λ0 in the simplex; uniform if None.
        epsilon: Half the width of the box, in [0, 1]: 0 returns the center itself, 1 is MGDA.

    Returns:
        The weights, ‖d‖ and the duality gap, the latter two from d itself.

    Raises:
        ValueError: If a row is not finite, the center is not in the simplex, or epsilon is not in
            [0, 1].

    >>> solution = min_norm_of_rows(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 2.0]]))
    >>> solution.lam.round(9).tolist(), round(solution.norm, 6)
    ([0.8, 0.1, 0.1], 0.894427)
    """
    problem = RowProblem.of(rows, center, epsilon)
    with np.errstate(all="ignore"):  # candidates that overflow are discarded by their certificate
        if epsilon == 0.0:
            return only_center(problem, center)
        if len(problem.center) == 1 or not problem.rows.any():
            return certified(problem, problem.center, None)
        if len(problem.center) == 2:
            return certified(problem, segment(problem.by_products()), None)
        lam, steps = _cancelling(problem)
        if lam is None:
            lam, more = best_of(problem, _starts(problem))
            lam, steps = nearest_to_center(problem, problem.with_unit_sum(lam)), steps + more
        return certified(problem, lam, steps)


def _cancelling(problem: RowProblem) -> tuple[Vector | None, int]:
    """Return the weights nearest the center with Σ λ_i g_i = 0, or None, and the steps taken."""
    nearest = _nearest(problem)
    tolerance = np.sqrt(len(problem.center)) * EPS
    found, steps = nearest.solve(np.zeros(len(nearest.goal)), tolerance, CANCEL_STEPS)
    lam = problem.with_unit_sum(found.lam)
    rounding = len(lam) * EPS  # of a sum over the users, beside the sum of their lengths
    cancels = np.sqrt(problem.square(lam)) <= rounding * float(problem.root @ lam)
    return (lam if cancels and abs(found.residual[-1]) <= rounding else None), steps


def _starts(problem: RowProblem) -> Iterator[Start]:
    """Yield feasible weights, which of them are off their bounds, and how many steps to spend."""
    limit = 4 * problem.bordered.shape[1] + 50
    lam = problem.with_unit_sum(_nearly_shortest(problem))
    yield lam, problem.inside(lam), limit
    lam = problem.with_unit_sum(problem.lower)  # as for the Gram matrix: for wild norms
    yield lam, problem.inside(lam), limit


def _nearly_shortest(problem: RowProblem) -> Vector:
    """Return weights that minimise ‖d‖² and a vanishing share of their distance to the center.

    The distance is measured in natural units. The smaller its share, the more weights are on the
    bounds they have in the answer; when a smaller share changes none, all are.
    """
    width = min(float((problem.upper - problem.lower).mean()) / 2, 1.0 / len(problem.center))
    lam, free = problem.center, problem.inside(problem.center)
    prices: Vector = np.zeros(problem.bordered.shape[1])
    for share in SLACKS:
        nearest = _nearest(problem, share / width)
        found, _ = nearest.solve(prices, 1e-9, SLACK_STEPS)
        last, free = free, problem.inside(found.lam)
        lam, prices = found.lam, found.prices
        if not free.all() and (free == last).all():
            break
    return lam


def _nearest(problem: RowProblem, slack: float = 0.0) -> NearestWeights:
    """Return the problem: Σ λ_i g_i = 0, up to a slack, and Σ λ_i = 1 without one."""
    last = np.zeros(problem.bordered.shape[1])
    last[-1] = 1.0
    return NearestWeights(
        system=problem.bordered,
        goal=last,
        center=problem.center,
        lower=problem.lower,
        upper=problem.upper,
        slack=slack * (1.0 - last) if slack else None,
        give=problem.root**-2.0 if slack else None,
    )
