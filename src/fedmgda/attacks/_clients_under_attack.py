"""Clients some of whom are malicious, as the server meets them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.attacks._attack import Attack, answer_of, under_attack
from fedmgda.values import WrappedClients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Matrix, Split, Vector
    from fedmgda.values import Clients, Cohort, Evaluation

__all__ = ["ClientsUnderAttack"]


@final
class ClientsUnderAttack(WrappedClients):
    """What clients say, where some are malicious; what is true the clients within know.

    Who trains is met as `Attack.tamper` has it; who was asked for gradients and is then asked for
    training losses says what `Attack.said_losses` has it say. Nobody else's losses are touched.
    """

    def __init__(self, clients: Clients, attack: Attack, seed: int) -> None:
        super().__init__(clients)
        self._attack, self._seed = attack, seed
        self._before: Mapping[int, float] = {}

    def train_cohort(
        self,
        params: Vector,
        client_ids: Sequence[int],
        round_num: int,
        *,
        gradients: bool = False,
        known: Mapping[int, float] | None = None,
    ) -> Cohort:
        """Let each client train, and return what they say came of it."""
        truth = partial(super().train_cohort, gradients=gradients, known=known)
        said = under_attack(truth, self._attack, self._seed)(params, tuple(client_ids), round_num)
        before = () if said.before is None else said.before.tolist()
        self._before = dict(zip(said.client_ids, before, strict=False))
        return said

    def evaluate(
        self,
        params: Vector | Matrix,
        client_ids: Sequence[int],
        split: Split,
        *,
        predictions: bool = False,
    ) -> Evaluation:
        """Evaluate, and return what the clients say of their training losses."""
        truth = super().evaluate(params, client_ids, split, predictions=predictions)
        gone = {failure.client_id for failure in truth.failures}
        asked = self._before.keys() & set(self._attack.clients) - gone if split == "train" else ()
        losses = np.array(truth.losses)
        columns = np.atleast_2d(losses).T
        for column, client_id in zip(columns, truth.client_ids, strict=True):
            if client_id in asked:
                column[:] = self._said(client_id, column.copy())
        return replace(truth, losses=losses)

    def _said(self, client_id: int, losses: Vector) -> Vector:
        before = self._before[client_id]
        said = np.asarray(answer_of(self._attack, "said_losses", client_id, before, losses))
        if said.shape != losses.shape or said.dtype.kind not in "iuf":
            raise SpecError(
                f"said_losses of the attack {type(self._attack).__name__} must return "
                f"{len(losses)} numbers, got an array of {said.dtype} of shape {said.shape}; "
                "correct it."
            )
        return said
