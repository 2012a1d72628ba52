"""FedMGDA and FedMGDA+: the minimum-norm point in the hull of the updates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.minnorm import min_norm, min_norm_constrained, min_norm_of_rows
from fedmgda.rules._center import Center, Constraint, check_center, constraint_rows
from fedmgda.rules._checks import check_name
from fedmgda.rules._fedavg import FedAvg
from fedmgda.rules._rows import ZeroUpdate, unit_rows
from fedmgda.rules._rule import Rule
from fedmgda.values import Annealed, short_vectors, value_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import Matrix, RuleState, Vector
    from fedmgda.minnorm import MinNormSolution
    from fedmgda.rules._rows import Rows
    from fedmgda.values import Cohort, Updates, Weighing

    _Solve: TypeAlias = Callable[[Rows, Vector, float], MinNormSolution]

__all__ = ["FedMGDA"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FedMGDA(Rule):
    """d = Σ λ*_i ḡ_i with λ* = argmin ‖Σ λ_i ḡ_i‖² over λ in the simplex, |λ - λ0| <= ε.

    At ε = 1 every participant's update has ⟨ḡ_i, d⟩ >= ‖d‖²: nobody is sacrificed. At ε = 0 the
    rule is FedAvg, bit for bit. In between, only the mixtures inside the box are protected.

    Attributes:
        epsilon: The half-width of the box round λ0, in [0, 1], or how it falls with the rounds.
        normalize: Whether updates are scaled to unit length (FedMGDA+), so that a client gains
            nothing by inflating its own.
        center: λ0: "uniform", in proportion to the "examples" of the participants, or a positive
            number for every client, of which the participants' are scaled to sum to one.
        zero_update: What to do with a client at rest, whose zero update would stop everyone.
        constraints: Preferences that λ must satisfy as well.

    >>> import numpy as np
    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(0, 1), updates=np.array([[1.0, 0.0], [0.0, 9.0]]),
    ...                 num_examples=np.ones(2), losses=np.ones(2))
    >>> FedMGDA().aggregate(cohort).direction
    array([0.5, 0.5])

    References:
        Algorithm 1 of "Federated Learning Meets Multi-objective Optimization"; SPEC 1.4 and 1.5.
    """

    epsilon: float | Annealed = 1.0
    normalize: bool = True
    center: Center = "uniform"
    zero_update: ZeroUpdate = "drop"
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        first = value_at(self.epsilon, 1)
        if not 0.0 <= first <= 1.0:
            raise ValueError(f"epsilon must lie in [0, 1], got {first}.")
        if self.constraints and first == 0.0:
            raise ValueError("constraints need a choice of λ, and epsilon = 0 leaves none.")
        check_center(self.center)
        check_name("zero_update", self.zero_update, ZeroUpdate)

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Find the weights of the common descent direction."""
        epsilon = value_at(self.epsilon, round_num)
        if epsilon == 0.0:
            return self._mean().weigh(cohort, state, round_num)
        solve, norms = self._solver(cohort.updates)
        rows = unit_rows(  # Alg. 1, line 5
            cohort, norms, normalize=self.normalize, zero_update=self.zero_update
        )
        center = rows.center(self.center)
        if rows.stalled or len(rows.kept) == 0:
            return rows.weighing(center), state
        solution = solve(rows, center, epsilon)  # Alg. 1, line 6
        return rows.weighing(solution.lam, solution.gap), state

    def _solver(self, updates: Updates) -> tuple[_Solve, Vector]:
        """Return what solves line 6 and the norms of the updates.

        Of updates that are many more than they are long no Gram matrix is formed.
        """
        vectors = None if self.constraints else short_vectors(updates)
        if vectors is not None:
            return partial(_of_vectors, vectors), updates.norms()
        matrix, norms = self._gramian(updates)
        return partial(self._constrained if self.constraints else _of_products, matrix), norms

    def _constrained(
        self, matrix: Matrix, rows: Rows, center: Vector, epsilon: float
    ) -> MinNormSolution:
        """Solve line 6 with the preferences, and the box as two rows of them for each client."""
        matrix = matrix[np.ix_(rows.kept, rows.kept)]
        left, right = constraint_rows(self.constraints, rows.cohort, rows.kept)
        if epsilon < 1.0:
            box = np.eye(len(center))
            left = np.vstack((left, box, -box))
            right = np.concatenate((right, center + epsilon, epsilon - center))
        try:
            return min_norm_constrained(matrix, left, right)
        except ValueError as error:
            raise SpecError(
                f"rule.constraints cannot hold among the participants of this round ({error}); let "
                "more clients take part, or ask for less."
            ) from error

    def _mean(self) -> FedAvg:
        """Nothing to solve: exactly FedAvg."""
        return FedAvg(center=self.center, normalize=self.normalize, zero_update=self.zero_update)

    def _gramian(self, updates: Updates) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of the rows to combine and the norms of the updates."""
        if self.normalize:
            return updates.normalized_gramian()
        matrix = updates.gramian()
        return matrix, np.sqrt(np.diagonal(matrix))


def _of_products(matrix: Matrix, rows: Rows, center: Vector, epsilon: float) -> MinNormSolution:
    return min_norm(matrix[np.ix_(rows.kept, rows.kept)], center, epsilon)


def _of_vectors(vectors: Matrix, rows: Rows, center: Vector, epsilon: float) -> MinNormSolution:
    return min_norm_of_rows(vectors[rows.kept] * rows.scales[:, None], center, epsilon)
