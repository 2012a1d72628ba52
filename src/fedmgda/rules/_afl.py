"""AFL: the mixture of users is an adversary that climbs towards the largest loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm import project_onto_simplex
from fedmgda.rules._rows import combine, raw_rows

if TYPE_CHECKING:
    from fedmgda._types import Aggregate, Cohort, RuleState

__all__ = ["AFL"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AFL:
    """d = γ_w Σ λ_i g_i, then λ <- Proj_Δ(λ + γ_λ (f_1, ..., f_n)).

    λ lives over all clients. In a round where only some take part, theirs is renormalised and only
    their losses climb. The trained model is the average of the iterates (`average_iterates`).

    Attributes:
        gamma_w: γ_w, the server's step on the weighted update.
        gamma_lambda: γ_λ, the step of the mixture.
        average_iterates: Whether the result is the mean of w_1..w_T instead of w_T.

    >>> from fedmgda import Cohort
    >>> cohort = Cohort(client_ids=(0, 1), updates=np.array([[1.0], [3.0]]),
    ...                 num_examples=np.ones(2), losses=np.array([0.2, 0.6]))
    >>> rule = AFL(gamma_lambda=0.5)
    >>> aggregate, state = rule.step(cohort, rule.init(2))
    >>> aggregate.direction, state["lam"]
    (array([2.]), array([0.4, 0.6]))

    References:
        Mohri, Sivek and Suresh (2019), Agnostic Federated Learning; SPEC 1.8.
    """

    gamma_w: float = 1.0
    gamma_lambda: float = 0.1
    average_iterates: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma_w) and self.gamma_w > 0.0):
            raise ValueError(f"gamma_w must be positive, got {self.gamma_w}.")
        if not (np.isfinite(self.gamma_lambda) and self.gamma_lambda >= 0.0):
            raise ValueError(f"gamma_lambda must be zero or positive, got {self.gamma_lambda}.")

    def init(self, num_clients: int) -> RuleState:
        """Start from the uniform mixture."""
        return {"lam": np.full(num_clients, 1.0 / num_clients)}

    def step(self, cohort: Cohort, state: RuleState) -> tuple[Aggregate, RuleState]:
        """Descend for the model, ascend for the mixture."""
        ids = np.array(cohort.client_ids)
        lam = state["lam"]
        mass = lam[ids].sum()
        shares = lam[ids] / mass if mass > 0.0 else np.zeros(len(ids))
        aggregate = combine(raw_rows(cohort), self.gamma_w * shares)
        climbed = lam.copy()
        climbed[ids] += self.gamma_lambda * cohort.losses
        return aggregate, {"lam": project_onto_simplex(climbed)}
