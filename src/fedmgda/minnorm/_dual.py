"""The weights nearest given ones that satisfy a few linear equations, found in the dual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = ["DualPoint", "NearestWeights"]

RIDGE = 1e-13  # relative: keeps the Newton system solvable where equations depend on each other
FALL = 0.5  # to this share of itself a step must bring the slope along it
NEAR = 1e-6  # a miss below which slopes may be lost in rounding
TURN = 1e-3  # how much of the first slope a step may have behind the minimum
TRIALS = 40  # of the length of one step
PROVED = 1e-9  # relative: a contradiction larger than this is none of rounding


@final
@dataclass(frozen=True, slots=True)
class DualPoint:
    """Prices of the equations, and the weights that follow from them.

    Attributes:
        prices: Of shape `(n,)`, y.
        pull: Of shape `(m,)`: system @ y.
        lam: Of shape `(m,)`: center + give * pull, cut to the bounds.
        residual: Of shape `(n,)`: systemᵀλ + slack * y - goal.
        miss: Its length.
    """

    prices: Vector
    pull: Vector
    lam: Vector
    residual: Vector
    miss: float


@final
@dataclass(frozen=True, kw_only=True)
class NearestWeights:
    """min ½ Σ (λ_i - center_i)² / give_i over lower <= λ <= upper with systemᵀλ = goal.

    The dual has a price for each of the n equations and no constraints, and its gradient is what
    the weights miss of the equations. It is convex and piecewise quadratic: Newton's method needs a
    few steps, of m n² products each, whatever m is. An equation with a slack > 0 need not hold; its
    squared residual / (2 slack) is added to the objective instead.

    Attributes:
        system: Of shape `(m, n)`.
        goal: Of shape `(n,)`.
        center: Of shape `(m,)`.
        lower: Of shape `(m,)`.
        upper: Of shape `(m,)`.
        slack: Of shape `(n,)`, >= 0; None is no slack.
        give: Of shape `(m,)`, > 0; None is 1 for all.

    References:
        Li, Sun and Toh (2018): a semismooth Newton method for duals of this kind.
    """

    system: Matrix
    goal: Vector
    center: Vector
    lower: Vector
    upper: Vector
    slack: Vector | None = None
    give: Vector | None = None

    def solve(self, prices: Vector, tolerance: float, limit: int) -> tuple[DualPoint, int]:
        """Return the point that misses the equations least, and the number of Newton steps.

        Args:
            prices: Of shape `(n,)`: where to start.
            tolerance: A miss that is good enough.
            limit: The most steps to take.
        """
        best = point = self._point(prices, self.system @ prices)
        for step in range(limit):
            if point.miss <= tolerance or self._is_contradiction(point):
                return best, step
            moved = self._moved(point)
            if moved is None or not moved.miss < np.inf:
                return best, step
            point = moved
            best = point if point.miss < best.miss else best
        return best, limit

    def _point(self, prices: Vector, pull: Vector) -> DualPoint:
        lam = self._weights(pull)
        residual = lam @ self.system - self.goal
        if self.slack is not None:
            residual = residual + self.slack * prices
        return DualPoint(prices, pull, lam, residual, float(np.linalg.norm(residual)))

    def _weights(self, pull: Vector) -> Vector:
        moved = self.center + (pull if self.give is None else self.give * pull)
        weights: Vector = np.minimum(np.maximum(moved, self.lower), self.upper)
        return weights

    def _is_contradiction(self, point: DualPoint) -> bool:
        """Tell whether the prices prove that no weights satisfy the equations (Farkas)."""
        if self.slack is not None:
            return False
        most = float(np.maximum(self.lower * point.pull, self.upper * point.pull).sum())
        asked = float(self.goal @ point.prices)
        return asked - most > PROVED * max(abs(asked), abs(most))

    def _moved(self, point: DualPoint) -> DualPoint | None:
        """Make a Newton step: a whole one if that is good, else as long a one as is."""
        direction = self._newton(point)
        along = self.system @ direction
        moved = self._point(point.prices + direction, point.pull + along)
        first = float(point.residual @ direction)
        if _is_long_enough(float(moved.residual @ direction), first):
            return moved
        if moved.miss <= FALL * point.miss and point.miss <= NEAR:
            return moved
        length = self._length(point, direction, along)
        if length == 0.0:
            return None
        return self._point(point.prices + length * direction, point.pull + length * along)

    def _newton(self, point: DualPoint) -> Vector:
        """Return the step that solves the equations for the weights that are off their bounds."""
        free = (self.lower < point.lam) & (point.lam < self.upper)
        rows = self.system if free.all() else self.system[free]
        if self.give is not None:
            rows = rows * np.sqrt(self.give[free])[:, None]
        matrix = rows.T @ rows
        diagonal = np.diagonal(matrix) + (0.0 if self.slack is None else self.slack)
        ridge = RIDGE * float(diagonal.max()) or 1.0
        matrix[np.diag_indices(len(matrix))] = diagonal + ridge
        try:
            return np.linalg.solve(matrix, -point.residual)
        except np.linalg.LinAlgError:
            return -point.residual

    def _length(self, point: DualPoint, direction: Vector, along: Vector) -> float:
        """Return a length at which the slope along the direction, < 0 at first, is nearly 0.

        A slope costs m products and no matrix; 0 is returned where rounding hides it.
        """
        first = float(point.residual @ direction)
        start = float(along @ point.lam)
        bent = 0.0 if self.slack is None else float(self.slack @ direction**2)
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(TRIALS):
            weights = self._weights(point.pull + length * along)
            slope = first + (float(along @ weights) - start) + length * bent
            if _is_long_enough(slope, first):
                return length
            low, high = (length, high) if slope < 0 else (low, length)
            if high == np.inf:
                length *= 4.0
            else:  # the ridge may have made the direction too long by many decades
                length = 0.5 * (low + high) if low > 0.0 else high / 16.0
        return low


def _is_long_enough(slope: float, first: float) -> bool:
    """Tell whether a step has come near the minimum: the slope has fallen, and hardly turned."""
    return FALL * first <= slope <= -TURN * first
