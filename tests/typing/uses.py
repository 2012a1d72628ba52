"""Right and wrong uses of the public names, for mypy alone: nothing here is ever called.

`assert_type` says what a type checker must know; `type: ignore[...]` what it must refuse, for an
ignore that is not needed is an error itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

import numpy as np

import fedmgda
from fedmgda import AFL, Aggregate, Cohort, DenseUpdates, FedMGDA, MinNormSolution, Updates

if TYPE_CHECKING:
    from fedmgda import ClientPool, Clients, RoundRecord, ServerState


def right(cohort: Cohort, clients: Clients, record: RoundRecord, server: ServerState) -> None:
    """Uses that are understood."""
    assert_type(FedMGDA(epsilon=0.1).aggregate(cohort), Aggregate)
    assert_type(fedmgda.min_norm(np.eye(3)), MinNormSolution)
    assert_type(cohort.updates, Updates)
    assert_type(clients.train_cohort(server.params, (0, 1), 1), Cohort)
    assert_type(record.cohort.client_ids, tuple[int, ...])
    assert_type(fedmgda.make_rule("afl").average_iterates, bool)
    Cohort(client_ids=range(2), updates=[[1.0], [2.0]], num_examples=[1, 1], losses=np.ones(2))
    Cohort(client_ids=(1,), updates=DenseUpdates(np.ones((1, 2))), num_examples=[1], losses=[1])


def the_pool_is_clients(pool: ClientPool) -> Clients:
    """What trains in this process is one kind of clients."""
    return pool


def wrong(cohort: Cohort) -> None:
    """Uses that are refused."""
    FedMGDA(epsilonn=3)  # type: ignore[call-arg]
    FedMGDA(0.5)  # type: ignore[call-arg]
    FedMGDA(center="exmples")  # type: ignore[arg-type]
    fedmgda.min_norm("a")  # type: ignore[arg-type]
    fedmgda.nonexistent  # type: ignore[attr-defined]  # noqa: B018
    AFL().weigh(cohort)  # type: ignore[call-arg]
    cohort.losses = np.ones(2)  # type: ignore[misc]
    Cohort(client_ids=("a",), updates=[[1.0]], num_examples=[1], losses=[1])  # type: ignore[arg-type]
