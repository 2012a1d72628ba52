"""The checked and scaled form of the cone problem, and what a solver returns of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._cone_certificate import check_demand, cone_certificate
from fedmgda.minnorm._problem import check_gramian, scale_exponent
from fedmgda.minnorm._real import as_real
from fedmgda.minnorm._solution import Status

if TYPE_CHECKING:
    from fedmgda._types import Indices, Matrix, Vector

__all__ = ["ConeProblem", "ConeSolution"]

GOAL = 1e-10
FAR = 2.0**300  # of the largest demand: a user so far inside the cone is never violated
EPS = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ConeSolution:
    """The multipliers v of the nearest step z' = z + Σ v_i u_i, and the proof that they are right.

    Attributes:
        multipliers: Of shape `(m,)`, v >= 0: how much of each u_i the step had to be given; 0 for
            whom it suited already. Where several v give the same step, the one for which
            Σ ‖u_i‖² v_i² is smallest: users who are alike get alike.
        gap: Of the certificate: z' is at most √(gap + violation Σ v_i) from the nearest step.
        violation: Of the certificate: the smallest ⟨u_i, z'⟩ is the bound minus this. At least the
            bound itself where no step satisfies all users.
        distance: ‖z' - z‖.
        iterations: Supports that were tried; 0 for a closed form.
        status: How v was found. OPTIMAL says that the certificate is at most 1e-10 of the natural
            scales: the gap of (Σ v_i ‖u_i‖)², and what row i falls short of ‖u_i‖ times the largest
            (bound - ⟨u_j, z⟩) / ‖u_j‖.
    """

    multipliers: Vector
    gap: float
    violation: float
    distance: float
    iterations: int
    status: Status


@final
@dataclass(frozen=True, slots=True)
class ConeProblem:
    """min ½ yᵀCy - yᵀq over y >= 0, where y_i = v_i ‖u_i‖: every row has unit length.

    A user with a zero row is left out: no step changes what it is worth to it.

    Attributes:
        cosines: Of shape `(k, k)`, C: the Gram matrix of the rows that are not zero, over lengths.
        demand: Of shape `(k,)`, q: (bound - ⟨u_i, z⟩) / ‖u_i‖, over a power of two that brings the
            largest near 1; no user is violated if none is positive.
        lengths: Of shape `(k,)`, ‖u_i‖ over a power of two.
        rows: Of shape `(k,)`, which of the m rows these are.
        gramian: Of shape `(m, m)`, as given.
        inner: Of shape `(m,)`, as given.
        bound: As given.
        exponents: Of what v and what ‖z' - z‖ must be multiplied by, as powers of two.
    """

    cosines: Matrix
    demand: Vector
    lengths: Vector
    rows: Indices
    gramian: Matrix
    inner: Vector
    bound: float
    exponents: tuple[int, int]

    @classmethod
    def of(cls, gramian: Matrix, inner: Vector, bound: float) -> ConeProblem:
        """Check the arguments of `nearest_in_cone` and scale them."""
        matrix = check_gramian(gramian)
        demand, shift = check_demand(inner, bound, len(matrix))
        exponent = scale_exponent(matrix)
        scaled = np.ldexp(matrix, -exponent)
        rows = np.flatnonzero(np.diagonal(scaled) > 0.0)
        if len(rows) < len(scaled):
            scaled, demand = scaled[rows[:, None], rows], demand[rows]
        lengths = np.sqrt(np.diagonal(scaled))
        cosines = 0.5 * (scaled + scaled.T) / lengths / lengths[:, None]
        demand, first = _near_one(demand)  # before the division, which could overflow
        demand, second = _near_one(demand / lengths)
        step = shift + first + second - exponent // 2
        return cls(
            cosines=np.minimum(np.maximum(np.nan_to_num(cosines), -1.0), 1.0),
            demand=np.maximum(demand, -FAR),
            lengths=lengths,
            rows=rows,
            gramian=matrix,
            inner=as_real(inner, "inner"),
            bound=bound,
            exponents=(step - exponent // 2, step),
        )

    def slack(self, y: Vector) -> Vector:
        """Return Cy - q, of shape `(k,)`: negative where a constraint is violated."""
        slack: Vector = self.cosines @ y - self.demand
        return slack

    def noise(self, y: Vector) -> float:
        """Return what rounding may make of a slack."""
        return EPS * (1.0 + float(y.sum()))

    def error(self, y: Vector, slack: Vector) -> float:
        """Return the gap, and the violation times the length that the multipliers add up to.

        It bounds the squared distance to the nearest step. Without any multipliers a violation must
        count as well, so the length is at least that of the largest demand.
        """
        violation = max(0.0, -float(slack.min()))
        return float(y @ np.abs(slack)) + violation * (1.0 + float(y.sum()))

    def solution(self, y: Vector, iterations: int) -> ConeSolution:
        """Return the answer in the units that were given, with its certificate."""
        multipliers = np.zeros(len(self.gramian))
        v = np.ldexp(y / self.lengths, self.exponents[0])
        multipliers[self.rows] = np.minimum(v, np.finfo(np.float64).max)
        certificate = cone_certificate(self.gramian, self.inner, self.bound, multipliers)
        squared = max(float(y @ self.cosines @ y), 0.0)
        status = Status.OPTIMAL if iterations else Status.CLOSED_FORM
        return ConeSolution(
            multipliers=multipliers,
            gap=certificate.gap,
            violation=certificate.violation,
            distance=float(np.ldexp(np.sqrt(squared), self.exponents[1])),
            iterations=iterations,
            status=status if self._meets_goal(y) else Status.INACCURATE,
        )

    def _meets_goal(self, y: Vector) -> bool:
        slack, total = self.slack(y), float(y.sum())
        largest = float(self.demand.max(initial=0.0))
        if -float(slack.min(initial=0.0)) > GOAL * largest or y @ np.abs(slack) > GOAL * total**2:
            return False
        zero = np.ones(len(self.inner), dtype=bool)
        zero[self.rows] = False
        return bool((self.inner[zero] >= self.bound).all())


def _near_one(demand: Vector) -> tuple[Vector, int]:
    """Divide by the power of two that brings the largest positive entry near 1."""
    exponent = int(np.frexp(demand.max(initial=0.0))[1])
    return np.ldexp(demand, -exponent), exponent
