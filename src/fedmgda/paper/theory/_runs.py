"""The library's own engine on a problem, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.federation import Constant, Federation, UniformSampler, initial_state, simulate
from fedmgda.minnorm import gramian, min_norm
from fedmgda.rules import FedMGDA
from fedmgda.values import Cohort

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import Matrix, Vector
    from fedmgda.federation import RoundRecord, Schedule
    from fedmgda.paper.theory._problems import UserLosses
    from fedmgda.rules import Rule
    from fedmgda.values import TrainCohort

__all__ = ["Run", "exact_weights", "federation_of", "run"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished simulation.

    Attributes:
        params: Of shape `(T + 1, d)`: w_0, ..., w_T.
        records: The T rounds between them.
    """

    params: Matrix
    records: tuple[RoundRecord, ...]

    @property
    def steps(self) -> Vector:
        """Of shape `(T,)`: the step of the server in each round."""
        return np.array([record.server_lr for record in self.records])

    @property
    def directions(self) -> Matrix:
        """Of shape `(T, d)`: what each round's rule made of the updates."""
        rows = [record.aggregate.direction for record in self.records if record.aggregate]
        return np.array(rows)

    @property
    def lams(self) -> Matrix:
        """Of shape `(T, m)`: the weights of each round's participants."""
        return np.array([record.aggregate.lam for record in self.records if record.aggregate])


def federation_of(
    problem: UserLosses,
    *,
    update: Callable[[Vector, int], Matrix] | None = None,
    rule: Rule | None = None,
    schedule: Schedule | None = None,
    per_round: int | None = None,
    seed: int = 0,
) -> Federation:
    """Return the library's federation on a problem.

    Args:
        problem: The users.
        update: What all users send, of shape `(n, d)`, given the model and the round; their exact
            gradients if None.
        rule: MGDA on raw updates if None. A user at its own minimum then stops everyone: the
            theory knows no client to leave out.
        schedule: The server's step; 1 if None.
        per_round: How many users take part; all if None.
        seed: Of the sampling.
    """
    n = problem.num_users
    return Federation(
        train_cohort=_train_cohort(problem, update or (lambda w, _: problem.gradients(w))),
        rule=rule or FedMGDA(normalize=False, zero_update="stall"),
        sampler=UniformSampler(num_clients=n, per_round=per_round or n),
        num_clients=n,
        schedule=schedule or Constant(),
        seed=seed,
    )


def _train_cohort(problem: UserLosses, update: Callable[[Vector, int], Matrix]) -> TrainCohort:
    def train(params: Vector, client_ids: tuple[int, ...], round_num: int) -> Cohort:
        chosen = list(client_ids)
        return Cohort(
            client_ids=client_ids,
            updates=update(params, round_num)[chosen],
            num_examples=np.ones(len(chosen)),
            losses=problem.losses(params)[chosen],
        )

    return train


def run(federation: Federation, start: Vector, num_rounds: int) -> Run:
    """Run the engine for some rounds."""
    params, records = [start], []
    for server, record in simulate(federation, initial_state(federation, start)):
        params.append(server.params)
        records.append(record)
        if server.round_num == num_rounds:
            break
    return Run(params=np.array(params), records=tuple(records))


def exact_weights(problem: UserLosses, params: Vector) -> Vector:
    """Return λ_t of the theorems, of shape `(n,)`: over all users, from their exact gradients."""
    return min_norm(gramian(problem.gradients(params))).lam
