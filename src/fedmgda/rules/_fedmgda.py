"""FedMGDA and FedMGDA+: the minimum-norm point in the hull of the updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm import min_norm
from fedmgda.rules._checks import check_name
from fedmgda.rules._fedavg import FedAvg
from fedmgda.rules._rows import ZeroUpdate, unit_rows
from fedmgda.rules._rule import Center, Rule, center_weights

if TYPE_CHECKING:
    from fedmgda._types import Matrix, RuleState, Vector
    from fedmgda.values import Cohort, Updates, Weighing

__all__ = ["FedMGDA"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FedMGDA(Rule):
    """d = Σ λ*_i ḡ_i with λ* = argmin ‖Σ λ_i ḡ_i‖² over λ in the simplex, |λ - λ0| <= ε.

    At ε = 1 every participant's update has ⟨ḡ_i, d⟩ >= ‖d‖²: nobody is sacrificed. At ε = 0 the
    rule is FedAvg, bit for bit. In between, only the mixtures inside the box are protected.

    Attributes:
        epsilon: The half-width of the box round λ0, in [0, 1].
        normalize: Whether updates are scaled to unit length (FedMGDA+), so that a client gains
            nothing by inflating its own.
        center: λ0: "uniform", or in proportion to the "examples" of the participants.
        zero_update: What to do with a client at rest, whose zero update would stop everyone.

    >>> import numpy as np
    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(0, 1), updates=np.array([[1.0, 0.0], [0.0, 9.0]]),
    ...                 num_examples=np.ones(2), losses=np.ones(2))
    >>> FedMGDA().aggregate(cohort).direction
    array([0.5, 0.5])

    References:
        Algorithm 1 of "Federated Learning Meets Multi-objective Optimization"; SPEC 1.4 and 1.5.
    """

    epsilon: float = 1.0
    normalize: bool = True
    center: Center = "uniform"
    zero_update: ZeroUpdate = "drop"

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon}.")
        check_name("center", self.center, Center)
        check_name("zero_update", self.zero_update, ZeroUpdate)

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Find the weights of the common descent direction."""
        if self.epsilon == 0.0:
            return self._mean().weigh(cohort, state, round_num)
        matrix, norms = self._gramian(cohort.updates)
        rows = unit_rows(  # Alg. 1, line 5
            cohort, norms, normalize=self.normalize, zero_update=self.zero_update
        )
        center = center_weights(self.center, cohort.num_examples[rows.kept])
        if rows.stalled or len(rows.kept) == 0:
            return rows.weighing(center), state
        matrix = matrix[np.ix_(rows.kept, rows.kept)]
        solution = min_norm(matrix, center, self.epsilon)  # Alg. 1, line 6
        return rows.weighing(solution.lam, solution.gap), state

    def _mean(self) -> FedAvg:
        """Nothing to solve: exactly FedAvg."""
        return FedAvg(center=self.center, normalize=self.normalize, zero_update=self.zero_update)

    def _gramian(self, updates: Updates) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of the rows to combine and the norms of the updates."""
        if self.normalize:
            return updates.normalized_gramian()
        matrix = updates.gramian()
        return matrix, np.sqrt(np.diagonal(matrix))
