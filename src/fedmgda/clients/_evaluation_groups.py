"""Which clients are evaluated together, in one forward pass of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from fedmgda.clients._block import rows_per_pass
from fedmgda.clients._work import Scoring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedmgda._types import Indices, Matrix, Split
    from fedmgda.clients._work import Outcome, Scores
    from fedmgda.data import FederatedData

__all__ = ["EvaluationGroups", "ScoreUnits", "evaluate_in_groups"]


@final
class EvaluationGroups:
    """Neighbouring clients whose examples fill a forward pass, for one split of the data.

    The sizes of the splits alone decide, never who is asked or how many workers there are: the
    last bit of an output can depend on the batch it is computed in.

    Attributes:
        sizes: Of shape `(num_groups,)`: how many examples each group has.
    """

    def __init__(self, data: FederatedData, split: Split) -> None:
        lengths = np.array([len(rows) for rows in data.split(split)], np.int64)
        ends = np.cumsum(lengths)
        _, self._firsts, self._group_of = np.unique(
            (ends - lengths) // rows_per_pass(data), return_index=True, return_inverse=True
        )
        self._last = len(lengths)
        self.sizes: Indices = np.add.reduceat(lengths, self._firsts)

    def members(self, group: int) -> range:
        """Return the clients of a group."""
        following = self._firsts[group + 1 : group + 2].tolist()
        return range(int(self._firsts[group]), *(following or [self._last]))

    def of(self, client_ids: Sequence[int]) -> list[int]:
        """Return the groups that the given clients are in, ascending."""
        return np.unique(self._group_of[np.array(client_ids, np.int64)]).tolist()


class ScoreUnits(Protocol):
    """Scores models for clients or groups of clients, wherever it is done."""

    def __call__(
        self, scoring: Scoring, models: Matrix, units: Sequence[int], /
    ) -> Sequence[Outcome]:
        """Return the outcome of each unit."""


def evaluate_in_groups(
    score_units: ScoreUnits,
    groups: EvaluationGroups,
    models: Matrix,
    client_ids: Sequence[int],
    split: Split,
) -> Scores:
    """Score clients group by group, and those of a group that fails one by one.

    On the training split every client is a batch of its own from the start: there the loss must be
    to the bit the one it reports when it trains.
    """
    scores: dict[int, NDArray[np.float64]] = {}
    if split != "train":
        asked = groups.of(client_ids)
        outcomes = score_units(Scoring(split=split, grouped=True), models, asked)
        for group, outcome in zip(asked, outcomes, strict=True):
            if outcome.scores is not None:
                columns = outcome.scores.swapaxes(0, 1)
                scores |= zip(groups.members(group), columns, strict=True)
    alone = [client_id for client_id in dict.fromkeys(client_ids) if client_id not in scores]
    reasons = {}
    outcomes = score_units(Scoring(split=split), models, alone) if alone else ()
    for client_id, outcome in zip(alone, outcomes, strict=True):
        if outcome.scores is not None:
            scores[client_id] = outcome.scores[:, 0]
        else:
            reasons[client_id] = str(outcome.reason)
    nothing = np.full((len(models), 2), np.nan)
    found = [scores.get(client_id, nothing) for client_id in client_ids]
    return np.array(found).reshape(len(found), len(models), 2).swapaxes(0, 1), reasons
