"""Selection in a run: the score of a model on validation splits, and what comes of the scores.

No number here is of a test split.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.experiments._protection import held_in_a_row
from fedmgda.experiments._spec import ProtectSpec
from fedmgda.federation import Selected, select, selected_round

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Vector
    from fedmgda.experiments._rows import EvaluationRow, RoundRow, Summary
    from fedmgda.experiments._spec import EvaluationSpec, Spec
    from fedmgda.federation import ServerState
    from fedmgda.values import ClientFacts, Evaluation

__all__ = [
    "check_patience",
    "check_validation",
    "last_round",
    "select_model",
    "validation_score",
    "with_selection",
]


def check_patience(evaluation: EvaluationSpec) -> None:
    """Refuse a patience that nothing would be measured for."""
    if evaluation.patience is not None and evaluation.measure is None:
        raise SpecError(
            f"evaluation.patience = {evaluation.patience} needs evaluation.select, 'loss' or "
            "'accuracy': the validation score that must get better."
        )


def check_validation(
    evaluation: EvaluationSpec, facts: ClientFacts, malicious: Sequence[int]
) -> None:
    """Refuse to select by a score that no client has.

    Raises:
        SpecError: If there are no validation examples, or no accuracy of what is predicted.
    """
    measure = evaluation.measure
    if measure == "accuracy" and facts.num_classes is None:
        raise SpecError("evaluation.select = 'accuracy' does not go with a regression; use 'loss'.")
    if measure is not None and not np.delete(facts.sizes["validation"], list(malicious)).any():
        raise SpecError(
            f"evaluation.select = {measure!r} needs validation examples, and no honest client has "
            "one; leave it out."
        )


def validation_score(
    evaluation: Evaluation, malicious: Sequence[int], measure: str, *, by_rows: bool = False
) -> float:
    """Return the mean score of the honest clients that have validation examples.

    Args:
        evaluation: On the validation splits.
        malicious: Clients that do not count.
        measure: "loss" or "accuracy".
        by_rows: Whether every example counts once, and not every client. Weights of classes are
            balanced over the rows of all clients; most clients hold few rows of a rare class, and
            to the mean over clients a model that finds it looks worse than none.

    Returns:
        NaN if there is none, or one of them is not finite.
    """
    failed = {failure.client_id for failure in evaluation.failures}
    counted = [
        i
        for i, client in enumerate(evaluation.client_ids)
        if evaluation.num_examples[i] > 0 and client not in failed and client not in malicious
    ]
    scores: Vector = evaluation.losses if measure == "loss" else evaluation.accuracies
    finite = len(counted) > 0 and np.isfinite(scores[counted]).all()
    if not finite:
        return math.nan
    weights = evaluation.num_examples[counted] if by_rows else None
    return float(np.average(scores[counted], weights=weights))


def select_model(
    best: Selected | None, server: ServerState, row: EvaluationRow | None, spec: EvaluationSpec
) -> Selected | None:
    """Return the best model so far, given the evaluation of the latest, if there was one.

    Raises:
        SpecError: If the initial model has no accuracy to be selected by.
    """
    if spec.measure is None or row is None:
        return best
    score = row.validation_score
    if best is None and score is None and spec.measure == "accuracy":
        raise SpecError(
            "evaluation.select = 'accuracy' finds no accuracy of the initial model on validation "
            "examples; use 'loss'."
        )
    candidate = Selected(
        round_num=row.round_num,
        score=math.nan if score is None else score,
        model=server.model,
    )
    return select(best, candidate, spec.measure)


def last_round(spec: Spec, evaluations: Sequence[EvaluationRow], rounds: Sequence[RoundRow]) -> int:
    """Return the round after which a run ends that went like this: early, or the last.

    Args:
        spec: Its spec.
        evaluations: Read only where a patience with the score may end it.
        rounds: Read only where a patience with held rounds may end it.
    """
    measure, patience = spec.evaluation.measure, spec.evaluation.patience
    ends = [spec.rounds]
    if measure is not None and patience is not None:
        scores = (
            (row.round_num, math.nan if row.validation_score is None else row.validation_score)
            for row in evaluations
        )
        if (tired := selected_round(scores, measure, patience)[1]) is not None:
            ends.append(tired)
    if isinstance(spec.server.protect, ProtectSpec):
        enough, is_due = spec.server.protect.patience, spec.evaluation.is_due
        ends += [
            row.round_num
            for row, held in zip(rounds, held_in_a_row(rounds), strict=True)
            if held >= enough and is_due(row.round_num, spec.rounds)
        ]
    return min(ends)


def with_selection(summary: Summary, server: ServerState, rounds: int) -> Summary:
    """Say in a summary which model it is of, where it was selected.

    Args:
        summary: Of the selected model.
        server: At the end of the run.
        rounds: How many rounds were asked for.
    """
    if server.selected is None:
        return summary
    score = server.selected.score
    return replace(
        summary,
        selected_round=server.selected.round_num,
        validation_score=score if math.isfinite(score) else None,
        stopped_early=server.round_num < rounds,
    )
