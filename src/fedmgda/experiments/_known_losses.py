"""Losses that were measured already, so that no client measures them twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.values import WrappedClients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.values import Clients, Cohort, Evaluation

__all__ = ["KnownLosses"]


@final
class KnownLosses(WrappedClients):
    """Clients that are told what the last evaluation found.

    After a round the participants are evaluated on their training splits to see who improved. Who
    takes part in the next round too starts from that very model, and its f_i(w_t) is known.
    """

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients)
        self._params: Vector = np.empty(0)
        self._losses: Mapping[int, float] = {}

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
        return super().train_cohort(params, client_ids, round_num, gradients=gradients, known=known)

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Evaluate, and remember what one model loses on the training splits."""
        found = super().evaluate(params, client_ids, split, predictions=predictions)
        if split == "train" and params.ndim == 1:
            failed = {failure.client_id for failure in found.failures}
            losses = zip(found.client_ids, found.losses.tolist(), strict=True)
            self._params = params.copy()
            self._losses = {client: loss for client, loss in losses if client not in failed}
        return found
