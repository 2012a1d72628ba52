"""The verdict on a run, from its records alone: nothing is trained, evaluated or asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedmgda.experiments import _verdict as outcomes
from fedmgda.experiments._class_weights import known_weights
from fedmgda.experiments._client_losses import FEW, client_losses, tested
from fedmgda.experiments._client_names import known_ids
from fedmgda.experiments._conflict import find_conflict
from fedmgda.experiments._evidence import Evidence, average_loss
from fedmgda.experiments._held import MOSTLY, STALLED, find_held
from fedmgda.experiments._hints import (
    RAW_RULES,
    after_divergence,
    after_held,
    after_no_learning,
    after_stalls,
)
from fedmgda.experiments._learned import learned
from fedmgda.experiments._verdict import HeldRounds, Stalls, Verdict
from fedmgda.experiments._wording import FEW_STALLS, headline, sentences
from fedmgda.values import is_no_direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Matrix, Vector
    from fedmgda.experiments._client_losses import ClientLosses
    from fedmgda.experiments._rows import RoundRow
    from fedmgda.experiments._spec import Spec

__all__ = ["judge"]

_BEYOND = 1.1  # times the larger of two losses: the model is worse than having none


def judge(evidence: Evidence) -> Verdict:
    """Say whether a run learned, diverged or stood still, who is worse off, and what to change."""
    everyone = tested(evidence.judged, known_ids(evidence.spec.attack.clients))
    losses = _losses(evidence, everyone)
    stalls, gramian = _stalls(evidence)
    held, cone = find_held(evidence)
    first, last = average_loss(evidence.evaluations[0]), average_loss(evidence.judged)
    constant = None
    if losses is not None and losses.constant is not None:
        constant = float(np.mean(losses.constant))
    # A model that protection left where it was is nobody's success, whatever it is worth.
    held_still = held is not None and held.rounds >= MOSTLY * len(evidence.rounds)
    outcome = outcomes.STOOD_STILL if held_still else outcomes.NOT_TESTED
    if everyone:
        known = [loss for loss in (first, constant) if loss is not None]
        still = stalls is not None and stalls.rounds >= len(evidence.rounds) / 2
        shown = outcome if held_still else learned(evidence, everyone, losses)
        outcome = _outcome(evidence, shown, known, still)
    cures = _cures(evidence, (stalls, gramian), (held, cone))
    hints = _hints(evidence, outcome, cures)
    worse = losses.worse_than_constant() if losses else []
    below = losses.worse_than(evidence.evaluations[0]) if losses else []
    verdict = Verdict(
        outcome=outcome,
        headline="",
        hints=hints,
        loss=last,
        initial_loss=first,
        constant_loss=constant,
        worse_than_constant=tuple(worse),
        worse_than_initial=tuple(below),
        few_test_examples=_few(evidence, everyone),
        stalls=stalls,
        held=held,
    )
    if losses is None:  # nothing is known of single clients
        evidence = replace(evidence, predictions=None)
    return replace(
        verdict,
        headline=headline(evidence, verdict, len(everyone), cures),
        sentences=tuple(sentences(evidence, verdict, len(everyone), cures)),
    )


def _losses(evidence: Evidence, everyone: Sequence[int]) -> ClientLosses | None:
    # A loss of the user's own is no cross-entropy and no squared error, as the constant's is.
    if evidence.predictions is None or not everyone or evidence.spec.clients.loss is not None:
        return None
    sums, weights = evidence.target_sums, None
    if evidence.spec.clients.class_weights is not None:
        if sums is None:
            return None  # nobody knows the weights, and the rows were kept without them
        weights = known_weights(evidence.spec, sums, evidence.class_names)
    return client_losses(evidence.predictions, everyone, sums, weights)


def _few(evidence: Evidence, everyone: Sequence[int]) -> int:
    sizes = dict(zip(evidence.judged.client_ids, evidence.judged.num_examples, strict=True))
    return sum(bool(sizes[client] < FEW) for client in everyone)


def _outcome(evidence: Evidence, shown: str | None, known: list[float], stalled: bool) -> str:
    """Return the outcome, given what is shown about learning and which losses are to be beaten."""
    if average_loss(evidence.judged) is None:
        return outcomes.DIVERGED
    if shown is not None:
        return shown
    # A selected model may be the initial one: where training led is what the last one says.
    led_to = average_loss(evidence.evaluations[-1])
    if led_to is None or (known and led_to > _BEYOND * max(known)):
        return outcomes.DIVERGED
    return outcomes.STOOD_STILL if stalled else outcomes.NOT_LEARNED


def _hints(evidence: Evidence, outcome: str, cures: tuple[str, ...]) -> tuple[str, ...]:
    spec = evidence.spec
    averages = [loss for row in evidence.evaluations if (loss := average_loss(row)) is not None]
    if outcome == outcomes.DIVERGED:
        last = average_loss(evidence.evaluations[-1])
        growth = float("inf") if last is None or not averages else last / max(averages[0], 1e-300)
        return after_divergence(spec, evidence.rounds, growth) + cures
    if outcome == outcomes.NOT_LEARNED:
        return after_no_learning(spec, evidence.rounds, averages) + cures
    return cures


def _cures(
    evidence: Evidence,
    stalls: tuple[Stalls | None, Matrix | None],
    held: tuple[HeldRounds | None, Matrix | None],
) -> tuple[str, ...]:
    """Return what to change about rounds that were held, or stalled, if they were not few."""
    found, gramian = held
    few = FEW_STALLS * len(evidence.rounds)
    if found is not None and found.rounds >= few:
        kept = stalls[1] if found.why == STALLED else gramian
        return after_held(evidence.spec, found, kept)
    if stalls[0] is not None and stalls[0].rounds >= few:
        return after_stalls(evidence.spec, stalls[1], stalls[0].participants)
    return ()


def _stalls(evidence: Evidence) -> tuple[Stalls | None, Matrix | None]:
    """Return the stalled rounds, and the whole Gram matrix of the last that kept one."""
    rows = [row for row in evidence.rounds if _is_stalled(row, evidence.spec)]
    if not rows:
        return None, None
    summary = Stalls(rounds=len(rows), participants=len(rows[-1].client_ids))
    for row in reversed(rows):
        gram = evidence.gram(row.round_num) if row.gram is not None else None
        if gram is not None and gram.matrix.shape[0] == gram.matrix.shape[1]:
            found = find_conflict(gram.matrix)
            ids = row.client_ids
            return Stalls(
                rounds=len(rows),
                participants=len(rows[-1].client_ids),
                looked_at=row.round_num,
                blocking=tuple(ids[i] for i in found.blocking) if found else (),
                conflict=tuple(ids[i] for i in found.members) if found else (),
            ), gram.matrix
    return summary, None


def _is_stalled(row: RoundRow, spec: Spec) -> bool:
    """Tell whether a round stalled, also one from before that was written down."""
    if row.stalled is not None or row.lam is None or row.norm is None:
        return bool(row.stalled)
    lengths: Vector = np.ones(len(row.lam))
    if spec.rule.name in RAW_RULES:
        if row.norms is None:
            return False
        lengths = row.norms
    return is_no_direction(row.norm, float(np.abs(row.lam) @ lengths))
