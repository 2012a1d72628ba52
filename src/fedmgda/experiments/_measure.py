"""What is written down about a round, an evaluation and a whole run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.metrics import fairness, improved_participants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Vector
    from fedmgda.federation import RoundRecord
    from fedmgda.values import Evaluation

__all__ = ["evaluation_row", "round_row", "summarize"]


_OF_A_LOSS = (
    "num_users", "average", "average_weighted", "std", "variance_unweighted", "variance_weighted",
    "percentile_5", "percentile_95", "min", "max",
)  # fmt: skip


def round_row(
    record: RoundRecord, before: Vector | None, after: Vector | None, malicious: Sequence[int]
) -> dict[str, Any]:
    """Return one line of `rounds.jsonl`.

    Args:
        record: What the engine says.
        before: Of shape `(m,)`: f_i(w_t) of the cohort, or None if it was not measured.
        after: Of shape `(m,)`: f_i(w_{t+1}) of the cohort, or None if it was not measured.
        malicious: Clients that lie about their loss; they do not count among the improved.
    """
    cohort, aggregate = record.cohort, record.aggregate
    row: dict[str, Any] = {
        "round": record.round_num,
        "clients": cohort.client_ids,
        "server_lr": record.server_lr,
        "local_losses": cohort.local_losses,
        "losses_before": before,
        "losses_after": after,
        "improved": None,
        "quarantined": [asdict(failure) for failure in record.quarantined],
        "failed": record.failed,
    }
    if aggregate is not None:
        row |= {
            "lam": aggregate.lam,
            "norm": aggregate.norm,
            "gap": aggregate.gap,
            "inner": aggregate.inner,
            "min_inner": aggregate.inner.min(),
            "sacrificed": aggregate.sacrificed,
            "dropped": aggregate.dropped,
        }
    honest = [i for i, client in enumerate(cohort.client_ids) if client not in malicious]
    if before is not None and after is not None and honest:
        row["improved"] = improved_participants(before[honest], after[honest])
    return row


def evaluation_row(
    round_num: int, evaluation: Evaluation, malicious: Sequence[int], pareto: float | None
) -> dict[str, Any]:
    """Return one line of `evaluations.jsonl`: every user, and the summary over honest users."""
    honest = [i for i, client in enumerate(evaluation.client_ids) if client not in malicious]
    row: dict[str, Any] = {
        "round": round_num,
        "clients": evaluation.client_ids,
        "accuracies": evaluation.accuracies,
        "losses": evaluation.losses,
        "num_examples": evaluation.num_examples,
        "honest": _summary(evaluation, honest),
    }
    if evaluation.failures:
        row["failures"] = [asdict(failure) for failure in evaluation.failures]
    if malicious:
        row["all"] = _summary(evaluation, list(range(len(evaluation.client_ids))))
    if pareto is not None:
        row["pareto_residual"] = pareto
    return row


def summarize(
    rounds: Sequence[dict[str, Any]], last: dict[str, Any], names: Sequence[str] | None
) -> dict[str, Any]:
    """Return what a finished run is remembered by; where clients have names, each of them too."""
    improved = [row["improved"] for row in rounds if row["improved"] is not None]
    lately = [row["improved"] for row in rounds[-50:] if row["improved"] is not None]
    lists = ("clients", "accuracies", "losses", "num_examples")
    return (
        {key: value for key, value in last.items() if key not in lists}
        | {
            "improved": float(np.mean(improved)) if improved else None,
            "improved_last_50": float(np.mean(lately)) if lately else None,
            "rounds_that_sacrificed": sum(bool(row.get("sacrificed")) for row in rounds),
            "rounds_failed": sum(row["failed"] is not None for row in rounds),
            "quarantined": sum(len(row["quarantined"]) for row in rounds),
            "dropped": sum(len(row.get("dropped", ())) for row in rounds),
        }
        | ({"clients": _by_name(last, names)} if names else {})
    )


def _by_name(last: dict[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    columns = ("accuracies", "losses", "num_examples")
    rows = zip(names, *(last[column] for column in columns), strict=True)
    return [
        {"name": name, "accuracy": accuracy, "loss": loss, "num_examples": size}
        for name, accuracy, loss, size in rows
    ]


def _summary(evaluation: Evaluation, rows: list[int]) -> dict[str, Any]:
    """Summarise accuracy (of classifiers) and loss over some users, and say over how many.

    Left out is who has no examples or could not be evaluated.
    """
    failed = {failure.client_id for failure in evaluation.failures}
    ids, sizes = evaluation.client_ids, evaluation.num_examples
    counted = [i for i in rows if sizes[i] > 0 and ids[i] not in failed]
    weights = evaluation.num_examples[counted]
    losses, accuracies = evaluation.losses[counted], evaluation.accuracies[counted]
    summary: dict[str, Any] = {"users": len(counted)}
    for name, values in (("accuracy", accuracies), ("loss", losses)):
        # A diverged model has no finite loss; a regression has no accuracy.
        known = len(values) > 0 and bool(np.isfinite(values).all())
        measures = asdict(fairness(values, weights)) if known else {}
        if name == "loss":  # worst, best and the indices of fairness take a large value for good
            measures = {key: value for key, value in measures.items() if key in _OF_A_LOSS}
        summary[name] = measures or None
    return summary
