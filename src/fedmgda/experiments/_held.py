"""Why protection held rounds, and who stood in the way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fedmgda.experiments._conflict import find_conflict
from fedmgda.experiments._verdict import HeldRounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Matrix
    from fedmgda.experiments._evidence import Evidence
    from fedmgda.experiments._rows import RoundRow

__all__ = ["MOSTLY", "OPPOSED", "STALLED", "STATIONARY", "UNMOVED", "find_held", "why_held"]

STATIONARY, STALLED, OPPOSED, UNMOVED = "stationary", "stalled", "opposed", "unmoved"

MOSTLY = 0.5
"""The share of held rounds from which on a run stood still."""


def find_held(evidence: Evidence) -> tuple[HeldRounds | None, Matrix | None]:
    """Return the held rounds, and the whole Gram matrix of the last without a step for all."""
    rows = [row for row in evidence.rounds if row.held]
    if not rows:
        return None, None
    reasons = Counter(map(why_held, rows))
    looked_at, gramian = _last_stationary(evidence, rows)
    found = None if gramian is None else find_conflict(gramian)
    ids = () if looked_at is None else looked_at.client_ids
    return HeldRounds(
        rounds=len(rows),
        participants=len(rows[-1].client_ids),
        why=reasons.most_common(1)[0][0],
        opposing=_opposing([row for row in rows if why_held(row) == OPPOSED]),
        looked_at=None if looked_at is None else looked_at.round_num,
        blocking=tuple(ids[i] for i in found.blocking) if found else (),
        conflict=tuple(ids[i] for i in found.members) if found else (),
    ), gramian


def why_held(row: RoundRow) -> str:
    """Return why a round was held.

    A step of updates that cancel is noise: that somebody opposes it, or that it moves nothing, has
    that one cause.
    """
    reason = None if row.protection is None else row.protection.reason
    if reason == STATIONARY:
        return STATIONARY
    return STALLED if row.stalled else reason or OPPOSED


def _last_stationary(
    evidence: Evidence, rows: Sequence[RoundRow]
) -> tuple[RoundRow | None, Matrix | None]:
    for row in reversed(rows):
        if why_held(row) == STATIONARY:
            gram = evidence.cone_gram(row.round_num)
            if gram is not None and gram.matrix.shape[0] == gram.matrix.shape[1]:
                return row, gram.matrix
    return None, None


def _opposing(rows: Sequence[RoundRow]) -> tuple[int, ...]:
    """Return who opposed every length in at least half of some rounds."""
    counts = Counter[int]()
    for row in rows:
        if row.protection is not None and row.protection.opposed:
            counts.update(set.intersection(*map(set, row.protection.opposed)))
    often = [client for client, count in counts.items() if 2 * count >= len(rows)]
    return tuple(sorted(often, key=lambda client: (-counts[client], client)))
