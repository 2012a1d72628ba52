"""Clients that are other clients but for what a subclass changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.values._clients import ClientFacts, Clients, Evaluation
    from fedmgda.values._cohort import Cohort

__all__ = ["WrappedClients"]


class WrappedClients:
    """The protocol `Clients`, every question of which is passed on to the clients within.

    The one class that is meant to be overridden: who remembers, falsifies or redirects an answer
    says so in one method, and cannot forget to pass on the others.

    Attributes:
        inner: Who is asked.
    """

    def __init__(self, inner: Clients) -> None:
        self.inner = inner
        self.num_clients = inner.num_clients
        self.num_params = inner.num_params
        self.num_buffers = inner.num_buffers
        self.path = inner.path
        self.client_names = inner.client_names
        self.models_at_once = inner.models_at_once

    @property
    def facts(self) -> ClientFacts:
        """What else the server may know; asked late, for it may have to be computed."""
        return self.inner.facts

    def initial_params(self) -> Vector:
        """Return the model to start from."""
        return self.inner.initial_params()

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train the model on its own data."""
        return self.inner.train_cohort(
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
        """Return loss and accuracy of one model, or of k, for each client on one split."""
        return self.inner.evaluate(params, client_ids, split, predictions=predictions)

    def gradients(self, params: Vector, client_ids: Sequence[int]) -> Cohort:
        """Return ∇f_i and f_i over each client's training split."""
        return self.inner.gradients(params, client_ids)

    def close(self) -> None:
        """Let the clients go."""
        self.inner.close()


if TYPE_CHECKING:

    def _is_a_kind_of_clients(wrapped: WrappedClients) -> Clients:
        return wrapped
