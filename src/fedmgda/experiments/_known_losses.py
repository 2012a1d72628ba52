"""Losses that were measured already, so that no client measures them twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.values import ClientFacts, Clients, Cohort, Evaluation

__all__ = ["KnownLosses"]


@final
class KnownLosses:
    """Clients that are told what the last evaluation found.

    After a round the participants are evaluated on their training splits to see who improved. Who
    takes part in the next round too starts from that very model, and its f_i(w_t) is known.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self.num_clients = clients.num_clients
        self.num_params = clients.num_params
        self.num_buffers = clients.num_buffers
        self.path = clients.path
        self.client_names = clients.client_names
        self._params: Vector = np.empty(0)
        self._losses: Mapping[int, float] = {}

    @property
    def facts(self) -> ClientFacts:
        """What else the server may know."""
        return self._clients.facts

    def initial_params(self) -> Vector:
        """Return the model to start from."""
        return self._clients.initial_params()

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train, with the losses of the last evaluation if it had this model."""
        if known is None and np.array_equal(self._params, params):
            known = self._losses
        return self._clients.train_cohort(
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
        """Evaluate, and remember what one model loses on the training splits."""
        found = self._clients.evaluate(params, client_ids, split, predictions=predictions)
        if split == "train" and params.ndim == 1:
            failed = {failure.client_id for failure in found.failures}
            losses = zip(found.client_ids, found.losses.tolist(), strict=True)
            self._params = params.copy()
            self._losses = {client: loss for client, loss in losses if client not in failed}
        return found

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort:
        """Return ∇f_i and f_i of each client."""
        return self._clients.gradients(params, client_ids)

    def close(self) -> None:
        """Let the clients go."""
        self._clients.close()
