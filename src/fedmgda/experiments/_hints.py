"""Which key to change, and to what: a hint is an override that can be given as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.experiments._conflict import fewer_participants
from fedmgda.experiments._held import OPPOSED, STALLED, STATIONARY, UNMOVED
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.values import value_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Matrix
    from fedmgda.experiments._rows import RoundRow
    from fedmgda.experiments._spec import Spec
    from fedmgda.experiments._verdict import HeldRounds

__all__ = [
    "RAW_RULES",
    "after_divergence",
    "after_held",
    "after_no_learning",
    "after_stalls",
    "is_attacked",
    "shorter_steps",
]

RAW_RULES = frozenset({"fedavg", "fedprox", "fedmgda", "q-fedavg", "afl"})
"""Rules that combine updates as they are, not scaled to unit length."""

# Rules of raw updates, and what they are with updates of unit length: nobody's counts for more.
_BOUNDED = {"fedavg": "fedavg-n", "fedprox": "fedavg-n", "fedmgda": "fedmgda+"}

_WORSE = 1.1  # a batch loss so many times the loss before training is a local step too long


def after_divergence(spec: Spec, rounds: Sequence[RoundRow], growth: float) -> tuple[str, ...]:
    """Return what to change about a run whose loss rose.

    Under attack it is the rule, where that lets a client's update be of any length and the honest
    ones trained well; else a step that is too long.

    Args:
        spec: Of the run.
        rounds: All of them.
        growth: How many times the loss of the initial model the last one is.
    """
    ratio = _batch_losses(rounds)
    steps = shorter_steps(spec, rounds, growth)
    honest_are_fine = ratio is None or ratio <= _WORSE
    if is_attacked(spec) and honest_are_fine and spec.rule.name in _BOUNDED:
        return (f"rule.name={_BOUNDED[spec.rule.name]}", *steps)
    return steps


def is_attacked(spec: Spec) -> bool:
    """Tell whether the clients of a run attack."""
    return spec.attack.name not in {None, "none"} and spec.baseline is None


def shorter_steps(spec: Spec, rounds: Sequence[RoundRow], growth: float) -> tuple[str, ...]:
    """Return the steps to shorten, the one that is too long first.

    If the losses of the batches are above those before training, it is the local step; else it is
    that of the server. The arguments are those of `after_divergence`.
    """
    factor = 10.0 if not growth < 5.0 else 3.0
    local = _smaller_client_lr(spec, factor)
    server = f"server.lr={_rounded(spec.server.lr / factor)}"
    ratio = _batch_losses(rounds)
    # Of raw updates the local step is part of every step; unit ones have only its direction.
    fine = spec.rule.name not in RAW_RULES and ratio is not None and ratio <= _WORSE
    return (server, local) if fine else (local, server)


def after_no_learning(
    spec: Spec, rounds: Sequence[RoundRow], losses: Sequence[float]
) -> tuple[str, ...]:
    """Return what to change about a run that moved too little, not far enough, or to and fro.

    Args:
        spec: Of the run.
        rounds: All of them.
        losses: Averaged over clients, of all evaluations.
    """
    ratio = _batch_losses(rounds)
    if ratio is not None and not ratio <= _WORSE:
        return (_smaller_client_lr(spec),)
    if len(losses) > 1 and losses[-1] > losses[0]:
        return after_divergence(spec, rounds, losses[-1] / max(losses[0], 1e-300))
    local = f"clients.client_lr={_rounded(3.0 * _client_lr(spec))}"
    longer = f"rounds={3 * spec.rounds}"
    falls = len(losses) > 1 and losses[-1] < 0.99 * losses[0]
    return (longer, local) if falls else (local, longer)


def after_stalls(spec: Spec, gramian: Matrix | None, participants: int) -> tuple[str, ...]:
    """Return what lets the participants of a stalled round have a direction.

    Fewer of them, or a box so small that every λ_i stays within half of its 1/m.

    Args:
        spec: Of the run.
        gramian: Of shape `(m, m)`, of the updates of a stalled round, where it was kept.
        participants: m.
    """
    hints = []
    fewer = max(participants // 16, 2) if gramian is None else fewer_participants(gramian)
    if fewer is not None and fewer < participants and spec.clients.only is None:
        hints.append(f"clients.per_round={fewer}")
    epsilon = _rounded(0.5 / participants)
    if spec.rule.epsilon is not None and float(epsilon) < value_at(spec.rule.epsilon, 1):
        hints.append(f"rule.epsilon={epsilon}")
    return tuple(hints)


def after_held(spec: Spec, held: HeldRounds, gramian: Matrix | None) -> tuple[str, ...]:
    """Return what lets rounds end with a step that are held.

    Args:
        spec: Of the run.
        held: The held rounds.
        gramian: Of shape `(m, m)`, of a round of their kind, where it was kept: of the unit
            gradients, or of the updates if these cancelled.
    """
    if held.why == STALLED:
        return after_stalls(spec, gramian, held.participants)
    factor = 10.0 if held.why == UNMOVED else 0.1
    step = [f"server.lr={_rounded(factor * spec.server.lr)}"]
    if spec.server.schedule == "harmonic":
        step = []
    if held.why == UNMOVED:
        return tuple(step)
    fewer = [hint for hint in after_stalls(spec, gramian, held.participants) if "clients" in hint]
    blocking = held.opposing if held.why == OPPOSED else held.blocking[:1]
    allowed = spec.server.protect.allow if isinstance(spec.server.protect, ProtectSpec) else 0
    most = max(len(blocking), allowed + 1)
    allow = [f"server.protect.allow={most}"] if blocking and most < held.participants else []
    first = [*fewer, *allow] if held.why == STATIONARY else [*allow, *step]
    return (*first, "server.protect=false")


def _smaller_client_lr(spec: Spec, factor: float = 10.0) -> str:
    """Return the override that makes the local step smaller."""
    return f"clients.client_lr={_rounded(_client_lr(spec) / factor)}"


def _client_lr(spec: Spec) -> float:
    given = spec.clients.client_lr
    return 0.1 if given is None or isinstance(given, str) else value_at(given, 1)


def _batch_losses(rounds: Sequence[RoundRow]) -> float | None:
    """Return the losses of the batches of local training over those before it, in the median.

    Of the first round that measured both: later a model may be in ruins, where nothing gets worse.
    """
    for row in rounds:
        if row.local_losses is not None and row.losses_before is not None and row.client_ids:
            with np.errstate(all="ignore"):
                ratio = row.local_losses / row.losses_before
            return float(np.median(np.nan_to_num(ratio, nan=np.inf)))
    return None


def _rounded(value: float) -> str:
    """Write a number with one digit: nobody needs a learning rate of 0.0333."""
    return f"{float(f'{value:.0e}'):g}"
