"""What is written down about a round, an evaluation and a whole run."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import numpy as np

from fedmgda.experiments._protection import overridden
from fedmgda.experiments._rows import (
    OF_A_LOSS,
    ClientResult,
    EvaluationRow,
    GroupSummary,
    NamedClient,
    ProtectionRow,
    RoundRow,
    Summary,
)
from fedmgda.metrics import fairness, improved_participants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedmgda._types import Indices, Split, Vector
    from fedmgda.experiments._rows import Measures
    from fedmgda.federation import Protected, RoundRecord
    from fedmgda.values import Evaluation

__all__ = ["client_results", "evaluation_row", "round_row", "summarize"]


def round_row(
    record: RoundRecord,
    before: Vector | None,
    after: Vector | None,
    malicious: Sequence[int],
    model: str = "",
) -> RoundRow:
    """Return one line of `rounds.jsonl`.

    Args:
        record: What the engine says.
        before: Of shape `(m,)`: f_i(w_t) of the cohort, or None if it was not measured.
        after: Of shape `(m,)`: f_i(w_{t+1}) of the cohort, or None if it was not measured.
        malicious: Clients that lie about their loss; they do not count among the improved.
        model: The digest of the model after a round that is protected.
    """
    cohort, aggregate = record.cohort, record.aggregate
    honest = [i for i, client in enumerate(cohort.client_ids) if client not in malicious]
    improved = None
    if before is not None and after is not None and honest:
        improved = improved_participants(before[honest], after[honest])
    return RoundRow(
        round_num=record.round_num,
        client_ids=cohort.client_ids,
        server_lr=record.server_lr,
        num_examples=cohort.num_examples,
        norms=cohort.updates.norms() if cohort.client_ids else np.empty(0),
        local_losses=cohort.local_losses,
        losses_before=before,
        losses_after=after,
        improved=improved,
        quarantined=record.quarantined,
        failed=record.failed,
        lam=aggregate.lam if aggregate else None,
        norm=aggregate.norm if aggregate else None,
        gap=aggregate.gap if aggregate else None,
        inner=aggregate.inner if aggregate else None,
        min_inner=float(aggregate.inner.min()) if aggregate else None,
        sacrificed=aggregate.sacrificed if aggregate else None,
        dropped=aggregate.dropped if aggregate else None,
        held=record.protected is not None and record.protected.held,
        stalled=aggregate.stalled if aggregate else None,
        protection=_protection_row(record.protected, model) if record.protected else None,
    )


def _protection_row(protected: Protected, model: str) -> ProtectionRow:
    known = {f.name for f in fields(ProtectionRow)}
    values = {f.name: getattr(protected, f.name) for f in fields(protected) if f.name in known}
    return ProtectionRow(**values, model=model)


def evaluation_row(
    round_num: int, evaluation: Evaluation, malicious: Sequence[int], pareto: float | None = None
) -> EvaluationRow:
    """Return one line of `evaluations.jsonl`: every user, and the summary over honest users."""
    everyone = list(range(len(evaluation.client_ids)))
    honest = [i for i in everyone if evaluation.client_ids[i] not in malicious]
    return EvaluationRow(
        round_num=round_num,
        client_ids=evaluation.client_ids,
        accuracies=evaluation.accuracies,
        losses=evaluation.losses,
        num_examples=evaluation.num_examples,
        honest=_group(evaluation, honest),
        all_users=_group(evaluation, everyone) if malicious else None,
        pareto_residual=pareto,
        failures=evaluation.failures,
    )


def summarize(
    rounds: Sequence[RoundRow], last: EvaluationRow, names: Sequence[str] | None
) -> Summary:
    """Return what a finished run is remembered by; where clients have names, each of them too."""
    improved = [row.improved for row in rounds if row.improved is not None]
    lately = [row.improved for row in rounds[-50:] if row.improved is not None]
    return Summary(
        round_num=last.round_num,
        honest=last.honest,
        all_users=last.all_users,
        pareto_residual=last.pareto_residual,
        global_accuracy=last.global_accuracy,
        global_loss=last.global_loss,
        improved=float(np.mean(improved)) if improved else None,
        improved_last_50=float(np.mean(lately)) if lately else None,
        rounds_that_sacrificed=sum(bool(row.sacrificed) for row in rounds),
        rounds_failed=sum(row.failed is not None for row in rounds),
        quarantined=sum(len(row.quarantined) for row in rounds),
        dropped=sum(len(row.dropped or ()) for row in rounds),
        rounds_stalled=sum(bool(row.stalled) for row in rounds),
        clients=_by_name(last, names) if names else (),
    )


def client_results(
    rounds: Sequence[RoundRow],
    last: EvaluationRow,
    sizes: Mapping[Split, Indices],
    names: Sequence[str] | None,
) -> tuple[ClientResult, ...]:
    """Return what every client has, took part in and got.

    Args:
        rounds: All rounds.
        last: The last evaluation.
        sizes: For each split, of shape `(num_clients,)`: how many examples each client has.
        names: What the clients are called, where they have names.
    """
    counted = Counter(client for row in rounds for client in row.client_ids)
    against = Counter(client for row in rounds for client in row.sacrificed or ())
    stalled = Counter(client for row in rounds if row.stalled for client in row.client_ids)
    looked = any(row.stalled is not None for row in rounds)
    protected = any(row.protection is not None for row in rounds)
    worse = Counter(client for row in rounds for client in overridden(row))
    opposed = Counter(
        client
        for row in rounds
        if row.protection is not None
        for client in set().union(*row.protection.opposed)
    )
    scores = zip(last.client_ids, last.accuracies, last.losses, strict=True)
    return tuple(
        ClientResult(
            client_id=client,
            name=names[client] if names else None,
            train_examples=int(sizes["train"][client]),
            validation_examples=int(sizes["validation"][client]),
            test_examples=int(sizes["test"][client]),
            test_accuracy=float(accuracy),
            test_loss=float(loss),
            rounds=counted[client],
            rounds_sacrificed=against[client],
            rounds_stalled=stalled[client] if looked else None,
            rounds_overridden=worse[client] if protected else None,
            rounds_opposed=opposed[client] if protected else None,
        )
        for client, accuracy, loss in scores
    )


def _by_name(last: EvaluationRow, names: Sequence[str]) -> tuple[NamedClient, ...]:
    rows = zip(names, last.accuracies, last.losses, last.num_examples, strict=True)
    return tuple(
        NamedClient(
            name=name, accuracy=_known(accuracy), loss=_known(loss), num_examples=float(size)
        )
        for name, accuracy, loss, size in rows
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _group(evaluation: Evaluation, rows: list[int]) -> GroupSummary:
    """Summarise accuracy (of classifiers) and loss over some users, those that have examples."""
    failed = {failure.client_id for failure in evaluation.failures}
    counted = [
        i for i in rows if evaluation.num_examples[i] > 0 and evaluation.client_ids[i] not in failed
    ]
    weights = evaluation.num_examples[counted]
    return GroupSummary(
        users=len(counted),
        accuracy=_measures(evaluation.accuracies[counted], weights),
        # Worst, best and the indices of fairness take a large value for good.
        loss=_measures(evaluation.losses[counted], weights, OF_A_LOSS),
    )


def _measures(
    values: Vector, weights: Vector, kept: Sequence[str] | None = None
) -> Measures | None:
    # A diverged model has no finite loss; a regression has no accuracy.
    if len(values) == 0 or not np.isfinite(values).all():
        return None
    found = asdict(fairness(values, weights))
    return {key: value for key, value in found.items() if kept is None or key in kept}
