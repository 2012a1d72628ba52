"""AFL: the mixture of users is an adversary that climbs towards the largest loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from fedmgda.minnorm import project_onto_simplex
from fedmgda.rules._checks import check_positive, nonnegative
from fedmgda.rules._rows import raw_rows
from fedmgda.rules._rule import Rule

if TYPE_CHECKING:
    from fedmgda._types import Indices, RuleState, Vector
    from fedmgda.values import Cohort, Weighing

__all__ = ["AFL"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AFL(Rule):
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
    >>> weighing, state = rule.weigh(cohort, rule.init(2), round_num=1)
    >>> weighing.weights, state["lam"]
    (array([0.5, 0.5]), array([0.4, 0.6]))

    References:
        Mohri, Sivek and Suresh (2019), Agnostic Federated Learning; SPEC 1.8.
    """

    reads_losses: ClassVar[bool] = True

    gamma_w: float = 1.0
    gamma_lambda: float = 0.1
    average_iterates: bool = True

    def __post_init__(self) -> None:
        check_positive("gamma_w", self.gamma_w)
        check_positive("gamma_lambda", self.gamma_lambda, or_zero=True)

    def init(self, num_clients: int) -> RuleState:
        """Start from the uniform mixture."""
        return {"lam": np.full(num_clients, 1.0 / num_clients)}

    def weigh(self, cohort: Cohort, state: RuleState, round_num: int) -> tuple[Weighing, RuleState]:
        """Descend for the model, ascend for the mixture."""
        del round_num
        lam = state["lam"]
        strangers = [client for client in cohort.client_ids if not 0 <= client < len(lam)]
        if strangers:
            raise ValueError(
                f"client_ids must lie in 0 to {len(lam) - 1}, the clients given to init, "
                f"got {strangers[0]}."
            )
        ids = np.array(cohort.client_ids)
        mass = lam[ids].sum()
        shares = lam[ids] / mass if mass > 0.0 else np.zeros(len(ids))
        weighing = raw_rows(cohort).weighing(self.gamma_w * shares)
        return weighing, {"lam": self._climb(lam, ids, nonnegative("losses", cohort.losses))}

    def _climb(self, lam: Vector, ids: Indices, losses: Vector) -> Vector:
        slope = np.zeros(len(lam))
        slope[ids] = losses
        # Only differences count in the projection. Measured from the largest loss none overflows
        # upwards, and whoever is 2 below it has no weight left, however much lower it is.
        with np.errstate(over="ignore"):
            rise = np.maximum(self.gamma_lambda * (slope - slope.max()), -2.0)
        return project_onto_simplex(lam + rise)
