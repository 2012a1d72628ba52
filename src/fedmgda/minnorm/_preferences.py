"""Linear preferences on the weights: A λ <= c, checked, scaled and tested for a solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._projection import project_onto_simplex
from fedmgda.minnorm._real import as_real
from fedmgda.minnorm._start import quiet_solver

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = ["Preferences"]

INFEASIBLE = 1e-7


@final
@dataclass(frozen=True, slots=True)
class Preferences:
    """The constraints A λ <= c, each row with a largest coefficient near 1.

    Attributes:
        rows: Of shape `(k, m)`, A.
        limits: Of shape `(k,)`, c.
    """

    rows: Matrix
    limits: Vector

    @classmethod
    def of(cls, constraints: Matrix, bounds: Vector, num_clients: int) -> Preferences:
        """Check the arguments of `min_norm_constrained` and scale them by powers of two."""
        rows = as_real(constraints, "constraints")
        limits = as_real(bounds, "bounds")
        if rows.ndim != 2 or rows.shape[1] != num_clients or limits.shape != rows.shape[:1]:
            raise ValueError(
                f"constraints must have shape (k, {num_clients}) and bounds (k,), "
                f"got {rows.shape} and {limits.shape}."
            )
        if not (np.isfinite(rows).all() and np.isfinite(limits).all()):
            raise ValueError("constraints and bounds must be finite: leave out rows without bound.")
        exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
        return cls(np.ldexp(rows, -exponents[:, None]), np.ldexp(limits, -exponents))

    def excess(self, lam: Vector) -> Vector:
        """Return A λ - c, of shape `(k,)`: positive where a constraint is violated."""
        return self.rows @ lam - self.limits

    def feasible_point(self) -> Vector:
        """Return weights that satisfy the constraints, or raise if there are none.

        Minimises Σ t over weights with A λ - t <= c and t >= 0.
        """
        num_rows, m = self.rows.shape
        solver = quiet_solver()
        total = np.concatenate((np.ones(m), np.zeros(num_rows)))[None]
        solver.setup(
            np.zeros((m + num_rows, m + num_rows)),
            1.0 - total[0],
            total,
            np.ones(1),
            np.hstack((self.rows, -np.eye(num_rows))),
            h_u=self.limits,
            x_l=np.zeros(m + num_rows),
        )
        solver.solve()
        lam = project_onto_simplex(np.nan_to_num(solver.result.x[:m]))
        excess = self.excess(lam)
        worst = int(np.argmax(excess))
        size = np.abs(self.rows[worst]).max() or 1.0
        if excess[worst] > INFEASIBLE:
            raise ValueError(
                f"constraints must admit weights in the simplex, the nearest exceed row {worst} "
                f"by {excess[worst] / size:.3g} of its largest coefficient: relax its bound."
            )
        return lam
