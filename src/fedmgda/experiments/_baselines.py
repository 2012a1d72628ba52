"""What a federation is held against, as runs of the same spec: `alone` and `pooled`.

`alone`: every client trains by itself from the initial model. `pooled`: one client that holds all
training rows trains the same model. Neither has a rule, a server's step or an attacker.

Both get the budget of the federation. If m of n clients take part in each of its T rounds, a client
takes part in T m / n of them on average, and all together visit T m / n times all training rows: so
many rounds, rounded and at least one, are trained alone, and pooled. Evaluations come as often in
proportion, so that a model is selected among as many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.data import find_dataset
from fedmgda.experiments._spec import AttackSpec, RuleSpec, ServerSpec
from fedmgda.federation import Federation, UniformSampler, cohort_size
from fedmgda.rules import FedAvg
from fedmgda.values import WrappedClients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Indices, Matrix, Split, Vector
    from fedmgda.data import FederatedData
    from fedmgda.experiments._spec import Spec
    from fedmgda.values import Clients, Cohort, Evaluation

__all__ = [
    "Pooled",
    "as_baseline",
    "carried_out",
    "lone_federation",
    "pooled_data",
    "refuse_remote",
]


def as_baseline(spec: Spec) -> Spec:
    """Return a spec without what a baseline does not have; any other spec as it is."""
    if spec.baseline is None:
        return spec
    return replace(
        spec, rule=RuleSpec(name="fedavg"), server=ServerSpec(), attack=AttackSpec(),
    )  # fmt: skip


def carried_out(spec: Spec, num_clients: int) -> Spec:
    """Return the spec with the rounds that are really trained, which depends on who shares them.

    >>> from fedmgda.experiments._spec import ClientsSpec, Spec
    >>> spec = Spec(baseline="alone", rounds=40, clients=ClientsSpec(per_round=5))
    >>> carried_out(spec, 20).rounds, carried_out(spec, 1000).rounds
    (10, 1)
    """
    if spec.baseline is None:
        return spec
    clients = spec.clients
    share = min(1.0, _per_round(spec, num_clients) / num_clients)
    if clients.only is not None:
        # Who is named takes part in every round, and is what the federation trains on.
        share = 1.0 if spec.baseline == "alone" else len(clients.only) / num_clients
    rounds = max(1, int(spec.rounds * share + 0.5))
    every = max(1, int(spec.evaluation.every * rounds / spec.rounds + 0.5))
    evaluation = replace(spec.evaluation, every=every, offset=0, last=True)
    if spec.baseline == "alone":
        # Nobody reads who improved in a round, for which every client would pass over its rows.
        evaluation = replace(evaluation, improved=False)
        clients = replace(clients, reported_loss="during")
    return replace(spec, rounds=rounds, evaluation=evaluation, clients=clients)


def _per_round(spec: Spec, num_clients: int) -> int:
    clients = spec.clients
    if clients.per_round is None and clients.participation is None:
        # A spec that was not settled means what settling it would have put there.
        return find_dataset(spec.data.name or "").most_per_round or num_clients
    return clients.per_round or cohort_size(clients.participation or 1.0, num_clients)


def lone_federation(spec: Spec, clients: Clients, client: int = 0) -> Federation:
    """Return a federation of one client: what it made of the model is the next model."""
    return Federation(
        train_cohort=clients.train_cohort,
        rule=FedAvg(),
        sampler=UniformSampler(num_clients=clients.num_clients, per_round=1, always_on=(client,)),
        num_clients=clients.num_clients,
        seed=spec.seed,
        num_buffers=clients.num_buffers,
        max_failed_rounds=spec.engine.max_failed_rounds,
    )


def pooled_data(data: FederatedData) -> FederatedData:
    """Return all the data as that of one client."""

    def together(split: Split) -> tuple[Indices, ...]:
        return (np.concatenate([np.empty(0, np.int64), *data.split(split)]),)

    return replace(
        data,
        train=together("train"),
        validation=together("validation"),
        test=together("test"),
        client_names=None,
    )


@final
class Pooled(WrappedClients):
    """Clients whose training rows are one client's, and who are evaluated each on its own."""

    def __init__(self, clients: Clients, whole: Clients) -> None:
        """Take the clients as they are, and the one that holds everything."""
        super().__init__(clients)
        self._whole = whole
        self.path = whole.path

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Train on all rows."""
        return self._whole.train_cohort(
            params, client_ids, round_num, gradients=gradients, known=known
        )

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Evaluate what is trained on as one, and everything else client by client."""
        clients = self._whole if split == "train" else self.inner
        return clients.evaluate(params, client_ids, split, predictions=predictions)

    def close(self) -> None:
        """Let the clients go."""
        self._whole.close()
        super().close()


def refuse_remote(spec: Spec) -> None:
    """Refuse to pool rows that are not here."""
    if spec.baseline == "pooled":
        raise SpecError(
            "baseline = 'pooled' needs all rows in one place, and these clients keep theirs; "
            "leave it out, or use 'alone'."
        )
