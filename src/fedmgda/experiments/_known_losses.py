"""Losses that were measured already, so that no client measures them twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, final

import numpy as np

from fedmgda.values import WrappedClients

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.values import Clients, Cohort, Evaluation

__all__ = ["KnownLosses"]


@final
class KnownLosses(WrappedClients):
    """Clients that are not asked again for training losses that are known.

    After a round the participants are evaluated on their training splits to see who improved. Who
    takes part in the next round too starts from that very model, and its f_i(w_t) is known. Where
    steps are protected, what was tried last is the next model, and nobody is evaluated again.
    """

    def __init__(self, clients: Clients) -> None:
        super().__init__(clients)
        self._received = _Known()
        self._evaluated: list[_Known] = []

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train, with the losses that are known of this model."""
        if known is None:
            known = self._known_of(params) or None
        cohort = super().train_cohort(
            params, client_ids, round_num, gradients=gradients, known=known
        )
        if cohort.before is not None:
            self._received = _Known.of(params, cohort.client_ids, cohort.before)
        return cohort

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Evaluate, and remember what the models lose on the training splits."""
        found = super().evaluate(params, client_ids, split, predictions=predictions)
        if split == "train":
            failed = {failure.client_id for failure in found.failures}
            models, losses = np.atleast_2d(params), np.atleast_2d(found.losses)
            self._evaluated = [
                _Known.of(model, found.client_ids, row, failed)
                for model, row in zip(models, losses, strict=True)
            ]
        return found

    def training_losses(self, params: Vector, client_ids: Sequence[int]) -> Vector:
        """Return f_i of a model, asking the clients only if one of them is not known.

        NaN is the loss of who does not answer, in whatever order the others do.
        """
        if not self._known_of(params).keys() >= set(client_ids):
            self.evaluate(params, client_ids, "train")
        known = self._known_of(params)
        return np.array([known.get(client, np.nan) for client in client_ids])

    def _known_of(self, params: Vector) -> Mapping[int, float]:
        """Return what is known of a model: after a held round from this round and the last."""
        known: dict[int, float] = {}
        for one in (self._received, *self._evaluated):
            if np.array_equal(one.params, params):
                known |= one.losses
        return known


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A model, and what it loses on the training splits of some clients."""

    params: Vector = field(default_factory=lambda: np.empty(0))
    losses: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        params: Vector,
        client_ids: Sequence[int],
        losses: Vector,
        failed: Collection[int] = (),
    ) -> Self:
        pairs = zip(client_ids, losses.tolist(), strict=True)
        return cls(params.copy(), {client: loss for client, loss in pairs if client not in failed})
