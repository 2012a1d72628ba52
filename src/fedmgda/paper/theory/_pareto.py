"""Lemma 1: Pareto optimal points are stationary, and conversely where all losses are convex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.metrics import pareto_residual
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import anisotropic, wells

if TYPE_CHECKING:
    from fedmgda._types import Flags, Matrix, Vector
    from fedmgda.paper.theory._problems import Wells

__all__ = ["optimal_is_stationary", "stationary_is_optimal"]

_WHERE = "Lemma 1, SPEC P4"
_REACH = 2.0  # the grid covers [-2, 2]²: the wells, and more


def optimal_is_stationary(seed: int, *, worst: bool = False) -> tuple[Check, ...]:
    """Check that the best points of ever finer grids are ever nearer to stationary.

    Let ω = min ‖Jλ‖ at a grid point w, and h' half a diagonal of the grid. The grid point nearest
    to w - s d / ω lowers every loss by s ω - M h' - L (s + h')² / 2 or more. Where no grid point
    is better for everyone this is not positive for any s, so that ω is at most the smallest
    (M h' + L (s + h')² / 2) / s, which tends to 0 with h.

    Args:
        seed: Of the problem, which is not convex.
        worst: Whether points that are not optimal are taken instead.
    """
    problem, widths = wells(seed, 3, 2), (0.4, 0.2, 0.1)
    place = Place(
        claim="A Pareto optimal point is stationary: on ever finer grids ω of points that none is "
        "better than for everyone tends to 0, as fast as it must.",
        where=_WHERE,
        problem="3 Gaussian wells in R^2, L = 1, M = exp(-1/2), grids of width 0.1 to 0.4; "
        "largest ω = min ‖Jλ‖",
        axes=("width of the grid", "largest min ‖Jλ‖"),
    )
    return (
        along(
            place,
            widths,
            [_largest_residual(problem, width, worst=worst) for width in widths],
            [_most(problem, width) for width in widths],
        ),
    )


def stationary_is_optimal(seed: int, *, moved: float = 0.0) -> tuple[Check, ...]:
    """Check that no point is better for everyone than a stationary point of convex losses.

    Args:
        seed: Of the problem and of the points that are tried.
        moved: How far from stationary the points are, to see that the search finds better ones.
    """
    problem, rng = anisotropic(seed, 3, 3, 0.1), generator(seed, Stream.SYNTHETIC, 7)
    most = -np.inf
    for lam in rng.dirichlet(np.ones(3), size=40):
        matrix = np.einsum("n,nde->de", lam, problem.hessians)
        target = np.einsum("n,nde,ne->d", lam, problem.hessians, problem.anchors)
        point = np.linalg.solve(matrix, target) + moved
        before = problem.losses(point)
        # Near and far, and along what lowers all losses first, if anything does.
        radii = 10.0 ** rng.uniform(-6.0, 1.0, size=(500, 1))
        tried = point + radii * rng.normal(size=(500, 3))
        fall = before - np.array([problem.losses(other) for other in tried])
        most = max(most, float(fall.min(axis=1).max()))
    place = Place(
        claim="Where all losses are convex a stationary point is weakly Pareto optimal: nowhere "
        "are all losses lower.",
        where=_WHERE,
        problem="3 users in R^3, Hessians with eigenvalues 0.1 to 1; 40 stationary points, 500 "
        "others tried for each; largest fall of all losses at once",
    )
    return (at_most(place, most, 0.0),)


def _largest_residual(problem: Wells, width: float, *, worst: bool) -> float:
    axis = np.arange(-_REACH, _REACH + width / 2.0, width)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    losses = np.array([problem.losses(point) for point in points])
    chosen = points[_dominated(losses) if worst else ~_dominated(losses)]
    return max(pareto_residual(problem.gradients(point)) for point in chosen)


def _dominated(losses: Matrix) -> Flags:
    """Return for each row whether another is lower in every column."""
    return np.array([bool((losses < row).all(axis=1).any()) for row in losses])


def _most(problem: Wells, width: float) -> float:
    half = width / np.sqrt(2.0)
    steps: Vector = np.linspace(1e-3, _REACH, 4000)
    cost = problem.lipschitz * half + 0.5 * problem.smoothness * (steps + half) ** 2
    return float((cost / steps).min())
