"""Which key to change, and to what: a hint is an override that can be given as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.experiments._conflict import fewer_participants, unit_gramian
from fedmgda.minnorm import min_norm
from fedmgda.values import value_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Matrix
    from fedmgda.experiments._rows import RoundRow
    from fedmgda.experiments._spec import Spec

__all__ = ["after_divergence", "after_no_learning", "after_stalls", "smaller_client_lr"]

_EPSILONS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
_LONG_ENOUGH = 1e-3  # of a direction, beside unit rows: a step that is worth a round
_WORSE = 1.1  # a batch loss so many times the loss before training is a local step too long


def smaller_client_lr(spec: Spec, factor: float = 10.0) -> str:
    """Return the override that makes the local step smaller."""
    return f"clients.client_lr={_rounded(value_at(spec.clients.client_lr, 1) / factor)}"


def after_divergence(spec: Spec, rounds: Sequence[RoundRow], growth: float) -> tuple[str, ...]:
    """Return what to change about a run whose loss rose.

    If the losses of the batches are above those before training, it is the local step that is too
    long; else it is that of the server.

    Args:
        spec: Of the run.
        rounds: All of them.
        growth: How many times the loss of the initial model the last one is.
    """
    factor = 10.0 if not growth < 5.0 else 3.0
    local = smaller_client_lr(spec, factor)
    server = f"server.lr={_rounded(spec.server.lr / factor)}"
    return (local, server) if _local_steps_are_too_long(rounds) else (server, local)


def after_no_learning(spec: Spec, losses: Sequence[float]) -> tuple[str, ...]:
    """Return what to change about a run that moved too little, or not far enough.

    Args:
        spec: Of the run.
        losses: Averaged over clients, of all evaluations.
    """
    local = f"clients.client_lr={_rounded(3.0 * value_at(spec.clients.client_lr, 1))}"
    longer = f"rounds={3 * spec.rounds}"
    falls = len(losses) > 1 and losses[-1] < 0.99 * losses[0]
    return (longer, local) if falls else (local, longer)


def after_stalls(spec: Spec, gramian: Matrix | None, participants: int) -> tuple[str, ...]:
    """Return what lets the participants of a stalled round have a direction.

    Both are tried on the Gram matrix before they are said, where it is known: fewer participants,
    drawn 20 times, and a smaller box round the mean.
    """
    hints = []
    fewer = max(participants // 16, 2) if gramian is None else fewer_participants(gramian)
    if fewer is not None and spec.clients.only is None:
        hints.append(f"clients.per_round={fewer}")
    if spec.rule.epsilon is not None and gramian is not None:
        unit, _ = unit_gramian(gramian)
        below = (e for e in _EPSILONS if e < value_at(spec.rule.epsilon, 1))
        good = (e for e in below if min_norm(unit, epsilon=e).norm > _LONG_ENOUGH)
        hints += [f"rule.epsilon={epsilon}" for epsilon in list(good)[:1]]
    return tuple(hints)


def _local_steps_are_too_long(rounds: Sequence[RoundRow]) -> bool:
    ratios = []
    for row in rounds:
        if row.local_losses is not None and row.losses_before is not None:
            with np.errstate(all="ignore"):
                ratios.append(np.nanmedian(row.local_losses / row.losses_before))
    worse = [not ratio <= _WORSE for ratio in ratios]
    # Where nothing was measured it is the likelier of the two.
    return not worse or any(worse)


def _rounded(value: float) -> str:
    """Write a number with one digit: nobody needs a learning rate of 0.0333."""
    return f"{float(f'{value:.0e}'):g}"
