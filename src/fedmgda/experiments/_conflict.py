"""Why a round stalled: who has no common direction with whom, seen from the Gram matrix alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm import min_norm
from fedmgda.values import NO_DIRECTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Indices, Matrix

__all__ = ["Conflict", "fewer_participants", "find_conflict", "unit_gramian"]

_DRAWS = 20  # of fewer participants, to see whether they would stall as well
_RARELY = 0.05  # the share of rounds that may stall
_SIZES = (50, 25, 20, 10, 5, 3, 2)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Who stands against whom in a stalled round, by their places among its participants.

    Attributes:
        members: A set without a common direction that loses one of its own has one: the conflict
            itself.
        blocking: Those of them without whom all the others have a common direction, the one whose
            absence makes it longest first; empty if no single client blocks.
    """

    members: tuple[int, ...]
    blocking: tuple[int, ...]


def find_conflict(gramian: Matrix) -> Conflict | None:
    """Return a smallest conflict found among the participants, and who of it blocks.

    Only a member can block: without anybody else the conflict is still whole, and zero still lies
    in the hull of the others.

    Args:
        gramian: Of shape `(m, m)`, the Gram matrix of the updates.

    Returns:
        None if the updates have a common direction after all.

    >>> rows = np.array([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.0]])
    >>> find_conflict(rows @ rows.T).blocking  # without the last the others agree best
    (2, 0, 1)
    """
    unit, moved = unit_gramian(gramian)
    everyone = np.arange(len(moved))
    if len(moved) == 0 or not _stalls(unit, everyone):
        return None
    members = _minimal(unit, _some_that_stall(unit))
    lengths: dict[int, float] = {}
    if not _stalls(unit, np.setdiff1d(everyone, members)):  # else the rest is a conflict by itself
        lengths = {int(i): _length(unit, np.delete(everyone, i)) for i in members}
    blocking = [i for i in sorted(lengths, key=lambda i: -lengths[i]) if lengths[i] > NO_DIRECTION]
    return Conflict(
        members=tuple(int(moved[i]) for i in members),
        blocking=tuple(int(moved[i]) for i in blocking),
    )


def fewer_participants(gramian: Matrix, seed: int = 0) -> int | None:
    """Return how many participants would hardly ever stall, near the end of training as well.

    There the updates point into all directions alike, and by Wendel's theorem m of them in r
    dimensions have no common direction with probability 1 - 2^(1-m) Σ_{k<r} C(m-1, k). The most
    for which that is at most 1/20 is taken, or fewer if of 20 draws from this round more than two
    stall.

    Args:
        gramian: Of shape `(m, m)`, the Gram matrix of the updates of a stalled round.
        seed: Of the draws.

    Returns:
        The number; None if not even two participants have a common direction.
    """
    unit, moved = unit_gramian(gramian)
    rng = np.random.default_rng(seed)
    rank = int(np.linalg.matrix_rank(unit, tol=1e-6 * len(unit), hermitian=True))
    most = max((m for m in range(2, len(moved)) if _chance(m, rank) <= _RARELY), default=0)
    for size in (most, *(size for size in _SIZES if size < most)):
        draws = [rng.permutation(len(moved))[:size] for _ in range(_DRAWS)]
        if size >= 2 and sum(_stalls(unit, draw) for draw in draws) <= 2 * _RARELY * _DRAWS:
            return size
    return None


def _chance(m: int, rank: int) -> float:
    """Return the probability that m directions, each as likely as its opposite, cancel."""
    return 1.0 - sum(math.comb(m - 1, k) for k in range(min(rank, m))) / 2 ** (m - 1)


def unit_gramian(gramian: Matrix) -> tuple[Matrix, Indices]:
    """Return the Gram matrix of the unit rows, and which rows they are: zero has no direction."""
    norms = np.sqrt(np.maximum(np.diagonal(gramian), 0.0))
    moved = np.flatnonzero(norms > 0)
    return gramian[np.ix_(moved, moved)] / np.outer(norms[moved], norms[moved]), moved


def _stalls(unit: Matrix, rows: Indices) -> bool:
    return len(rows) > 0 and _length(unit, rows) <= NO_DIRECTION


def _some_that_stall(unit: Matrix) -> Indices:
    """Return some rows without a common direction, few where many are not needed."""
    order, size = np.random.default_rng(0).permutation(len(unit)), 16
    while size < len(order) and not _stalls(unit, order[:size]):
        size *= 2
    return order[:size]


def _length(unit: Matrix, rows: Indices) -> float:
    """Return how long the common direction of some unit rows is; that of nobody is none."""
    return min_norm(unit[np.ix_(rows, rows)]).norm if len(rows) else 0.0


def _minimal(unit: Matrix, rows: Indices) -> Indices:
    """Return a set without a common direction from which nobody can be taken.

    Parts are left out as long as the rest stalls, first halves, at last single clients: about
    k log m small problems for a conflict of k.
    """
    needed: list[int] = []
    parts = [rows]
    while parts:
        part = parts.pop()
        others = np.array([*needed, *(i for rest in parts for i in rest)], np.int64)
        if _stalls(unit, others):
            continue
        if len(part) == 1:
            needed.append(int(part[0]))
        else:
            parts += _halves(part)
    return np.sort(np.array(needed, np.int64))


def _halves(part: Indices) -> Iterator[Indices]:
    yield part[: len(part) // 2]
    yield part[len(part) // 2 :]
