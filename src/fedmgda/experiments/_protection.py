"""What protection made of the steps of a run, counted over its rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.experiments._client_names import known_ids
from fedmgda.experiments._spec import ProtectSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedmgda._types import Flags, Vector
    from fedmgda.experiments._rows import RoundRow
    from fedmgda.experiments._spec import Spec

__all__ = ["ProtectionSummary", "held_in_a_row", "overridden", "protection_summary"]

SHORT = 1 / 16
"""A step of a smaller share of what was proposed is hardly one."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionSummary:
    """What protection made of the steps of a run.

    What participants say and what is measured is told apart: a loss rose as they said it, or, of
    those who do not attack, as it was measured. To take part in a round is one participation.

    Attributes:
        rounds: How many rounds there were.
        rounds_with_step: In how many of them the model moved.
        share_with_step: The same in percent, as all shares.
        rounds_held: In how many rounds protection left the model where it was.
        rounds_stationary: Those in which no step serves all participants.
        rounds_opposed: Those in which somebody's loss rose at every length that was tried.
        rounds_unmoved: Those whose step is none in the numbers of the model.
        held_at_the_end: How many rounds in a row were held, up to the last one.
        ended_stationary: Whether these were as many as end a run.
        rounds_overridden: In how many rounds somebody's loss rose, as `allow` lets it.
        participations: In all rounds with a step.
        participations_overridden: Those whose loss rose.
        participations_measured: Those of clients that do not attack, in rounds that measured it.
        rose_as_measured: Those of them whose loss rose.
        improved_with_step: The mean share of improved participants over the rounds with a step
            that measured it.
        rounds_turned: Steps that were turned, however little.
        mean_scale: The mean of s, the share of the turned step that was made; None without a step.
        least_scale: The least.
        share_of_short_steps: How many steps have s < 1/16.
        path_length: The sum of ‖Δ‖ over all rounds.
    """

    rounds: int
    rounds_with_step: int
    share_with_step: float
    rounds_held: int
    rounds_stationary: int
    rounds_opposed: int
    rounds_unmoved: int
    held_at_the_end: int
    ended_stationary: bool
    rounds_overridden: int
    participations: int
    participations_overridden: int
    participations_measured: int
    rose_as_measured: int
    improved_with_step: float | None = None
    rounds_turned: int
    mean_scale: float | None = None
    least_scale: float | None = None
    share_of_short_steps: float | None = None
    path_length: float

    @property
    def share_held(self) -> float:
        """How many rounds were held."""
        return 100.0 * self.rounds_held / self.rounds

    @property
    def share_overridden(self) -> float:
        """In how many rounds somebody's loss rose."""
        return 100.0 * self.rounds_overridden / self.rounds


def protection_summary(spec: Spec, rounds: Sequence[RoundRow]) -> ProtectionSummary | None:
    """Return what protection made of the steps of a run; None where they are not protected."""
    made = [row.protection for row in rounds if row.protection is not None]
    if not made or not isinstance(spec.server.protect, ProtectSpec):
        return None
    steps = [row for row in rounds if row.protection is not None and not row.held]
    scales = np.array([one.scale for one in made if one.scale is not None])
    reasons = [one.reason for one in made]
    worse = [len(overridden(row)) for row in steps]
    honest, rose = _as_measured(steps, known_ids(spec.attack.clients))
    improved = [row.improved for row in steps if row.improved is not None]
    *_, at_the_end = held_in_a_row(rounds)
    return ProtectionSummary(
        rounds=len(rounds),
        rounds_with_step=len(steps),
        share_with_step=100.0 * len(steps) / len(rounds),
        rounds_held=sum(bool(row.held) for row in rounds),
        rounds_stationary=reasons.count("stationary"),
        rounds_opposed=reasons.count("opposed"),
        rounds_unmoved=reasons.count("unmoved"),
        held_at_the_end=at_the_end,
        ended_stationary=at_the_end >= spec.server.protect.patience,
        rounds_overridden=sum(number > 0 for number in worse),
        participations=sum(len(row.client_ids) for row in steps),
        participations_overridden=sum(worse),
        participations_measured=honest,
        rose_as_measured=rose,
        improved_with_step=float(np.mean(improved)) if improved else None,
        rounds_turned=sum(bool(one.multipliers.any()) for one in made if one.scale is not None),
        mean_scale=float(scales.mean()) if len(scales) else None,
        least_scale=float(scales.min()) if len(scales) else None,
        share_of_short_steps=100.0 * float(np.mean(scales < SHORT)) if len(scales) else None,
        path_length=float(sum(one.moved_norm for one in made)),
    )


def held_in_a_row(rounds: Sequence[RoundRow]) -> Iterator[int]:
    """Yield after every round how many in a row were held; one that failed tells nothing."""
    held = 0
    for row in rounds:
        held = held + bool(row.held) if row.held or row.failed else 0
        yield held


def overridden(row: RoundRow) -> tuple[int, ...]:
    """Return the clients whose loss rose in a protected round, as they said it."""
    made = row.protection
    if made is None or made.after is None:
        return ()
    places = np.flatnonzero(_rose(made.before, made.after))
    return tuple(row.client_ids[place] for place in places)


def _rose(before: Vector, after: Vector) -> Flags:
    """Tell for each whether it is worse off; a loss that is not known or not finite is worse."""
    return ~(np.isfinite(after) & (after <= before))


def _as_measured(steps: Sequence[RoundRow], malicious: Sequence[int]) -> tuple[int, int]:
    """Return how many participations of honest clients were measured, and how many losses rose."""
    measured = rose = 0
    for row in steps:
        if row.losses_before is not None and row.losses_after is not None:
            honest = ~np.isin(row.client_ids, malicious)
            measured += int(honest.sum())
            rose += int(_rose(row.losses_before, row.losses_after)[honest].sum())
    return measured, rose
