"""The checked and scaled form of the problem that all parts of the solver share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._solution import MinNormSolution, Status

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = ["Problem", "check_center", "check_gramian", "scale_exponent"]

CENTER_TOLERANCE = 1e-9
GAP_GOAL = 1e-10


@final
@dataclass(frozen=True)
class Problem:
    """min ½ λᵀKλ over {Σ λ = 1, lower <= λ <= upper}, with K scaled to a largest entry near 1.

    Attributes:
        gramian: Of shape `(m, m)`, symmetric, divided by 2^exponent.
        center: Of shape `(m,)`, sums to 1.
        lower: Of shape `(m,)`.
        upper: Of shape `(m,)`.
        exponent: What the given K was divided by, as an (even) power of two: exact.
    """

    gramian: Matrix
    center: Vector
    lower: Vector
    upper: Vector
    exponent: int

    @classmethod
    def of(cls, gramian: Matrix, center: Vector | None, epsilon: float) -> Problem:
        """Check the arguments of `min_norm` and scale them."""
        matrix = check_gramian(gramian)
        lam0 = check_center(center, len(matrix))
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"epsilon must lie in [0, 1], got {epsilon}.")
        exponent = scale_exponent(matrix)
        matrix = np.ldexp(matrix, -exponent)
        return cls(
            gramian=0.5 * (matrix + matrix.T),  # λᵀKλ sees only the symmetric part
            center=lam0,
            lower=np.maximum(lam0 - epsilon, 0.0),
            upper=np.minimum(lam0 + epsilon, 1.0),
            exponent=exponent,
        )

    @property
    def is_simplex(self) -> bool:
        """Whether the box leaves the whole simplex feasible."""
        return len(self.center) == 1 or (not self.lower.any() and bool((self.upper == 1).all()))

    def solution(
        self, lam: Vector, *, gap: float, simplex_gap: float, iterations: int | None
    ) -> MinNormSolution:
        """Return the answer in the units of the given K; no iterations mean a closed form."""
        slope = self.gramian @ lam
        norm_squared = max(float(lam @ slope), 0.0)
        # A gap below ‖d‖² proves that all slopes are positive; they must also exceed rounding.
        rounding = (len(lam) + 2) * np.finfo(np.float64).eps * (np.abs(self.gramian) @ lam)
        status = Status.CLOSED_FORM
        if iterations is not None:
            goal = GAP_GOAL * float(np.diagonal(self.gramian).max())
            status = Status.OPTIMAL if gap <= goal else Status.INACCURATE
        return MinNormSolution(
            lam=lam,
            norm=float(np.ldexp(np.sqrt(norm_squared), self.exponent // 2)),
            gap=float(np.ldexp(gap, self.exponent)),
            iterations=iterations or 0,
            status=status,
            proves_common_descent=simplex_gap < norm_squared and bool((slope > rounding).all()),
        )

    def with_unit_sum(self, lam: Vector) -> Vector:
        """Give what is missing of the sum to the users with the smallest norms: it counts least."""
        missing = 1.0 - lam.sum()
        if missing == 0.0:
            return lam
        bound = self.upper if missing > 0 else self.lower
        order = np.argsort(self.root, kind="stable")
        room = np.abs(bound - lam)[order]
        lam = lam.copy()
        given = np.clip(abs(missing) - (np.cumsum(room) - room), 0.0, room)
        lam[order] += np.copysign(given, missing)
        return np.clip(lam, self.lower, self.upper)

    @cached_property
    def root(self) -> Vector:
        """Of shape `(m,)`, √K_ii: the natural unit of each user; the smallest if one has none."""
        diagonal = np.maximum(np.diagonal(self.gramian), 0.0)
        positive = diagonal[diagonal > 0]
        return np.sqrt(np.where(diagonal > 0, diagonal, positive.min() if len(positive) else 1.0))

    @cached_property
    def cosines(self) -> Matrix:
        """Of shape `(m, m)`: K in natural units, with unit diagonal except for zero users.

        Cauchy and Schwarz bound it for every true Gram matrix; any other is made to obey.
        """
        cosines = self.gramian / self.root / self.root[:, None]
        if not np.isfinite(cosines).all():
            cosines = np.nan_to_num(cosines)
        return np.minimum(np.maximum(cosines, -1.0), 1.0)


def check_gramian(gramian: Matrix) -> Matrix:
    """Return the Gram matrix as float64, or raise a sentence saying why it is none."""
    matrix = np.asarray(gramian, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"gramian must have shape (m, m) with m >= 1, got {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"gramian must be finite, got {matrix[row, column]} at row {row}, column {column}: "
            "drop users whose update is not finite."
        )
    return matrix


def check_center(center: Vector | None, num_clients: int) -> Vector:
    """Return λ0 as float64 with sum 1 (uniform if None), or raise a sentence."""
    if center is None:
        return np.full(num_clients, 1.0 / num_clients)
    lam0 = np.asarray(center, dtype=np.float64)
    if lam0.shape != (num_clients,):
        raise ValueError(f"center must have shape ({num_clients},), got {lam0.shape}.")
    if not (np.isfinite(lam0).all() and (lam0 >= 0).all()):
        raise ValueError(f"center must be finite and >= 0, got a smallest entry of {lam0.min()}.")
    if abs(lam0.sum() - 1.0) > CENTER_TOLERANCE:
        raise ValueError(f"center must sum to 1, got {lam0.sum()}: divide it by its sum.")
    normalized: Vector = lam0 / lam0.sum()
    return normalized


def scale_exponent(matrix: Matrix) -> int:
    """Return the even e for which the largest diagonal entry divided by 2^e is near 1."""
    top = np.diagonal(matrix).max()
    top = top if top > 0 else np.abs(matrix).max()
    return 2 * (int(np.frexp(top)[1]) // 2)
