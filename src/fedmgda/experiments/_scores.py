"""The metrics of a finished run: over all test rows, and for every client."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.experiments._client_names import known_ids
from fedmgda.experiments._results import read_predictions
from fedmgda.experiments._rows import OF_A_LOSS, ClassResult, MetricsSummary
from fedmgda.metrics import METRICS, Answers, default_metrics, fairness, measure, rarer_class

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fedmgda._types import Indices, Vector
    from fedmgda.experiments._rows import ClientResult, RowPredictions, Summary
    from fedmgda.experiments._spec import EvaluationSpec, Spec
    from fedmgda.values import ClientFacts

__all__ = [
    "answers_of",
    "check_metrics",
    "check_metrics_of_task",
    "client_metrics",
    "target_scale",
    "wanted_metrics",
    "with_metrics",
]


def check_metrics(evaluation: EvaluationSpec) -> None:
    """Refuse a metric that there is not, or that is named twice."""
    names = evaluation.metrics or ()
    for name in names if isinstance(names, tuple) else ():
        if name not in METRICS:
            near = did_you_mean(
                nearest_names(name, METRICS), f"the names are {', '.join(METRICS)}."
            )
            raise SpecError(f"evaluation.metrics has no {name!r}; {near}")
    if len(set(names)) < len(names) and isinstance(names, tuple):
        raise SpecError(f"evaluation.metrics names a metric twice, got {', '.join(names)}.")


def check_metrics_of_task(evaluation: EvaluationSpec, num_classes: int | None) -> None:
    """Refuse a metric that is not for what the model predicts; before a round, not after the last.

    Args:
        evaluation: What a spec asks for.
        num_classes: None for a regression.
    """
    task = "regression" if num_classes is None else "classification"
    names = evaluation.metrics or ()
    for name in names if isinstance(names, tuple) else ():
        if METRICS[name].task != task:
            those = ", ".join(default_metrics(num_classes))
            raise SpecError(
                f"evaluation.metrics has {name!r}, which is not for a {task}; use {those}."
            )


def wanted_metrics(evaluation: EvaluationSpec, said: Answers) -> tuple[str, ...]:
    """Return the metrics a spec asks for, those of the task where it says "auto".

    Raises:
        SpecError: If one of them is not for what the model predicts.
    """
    names = evaluation.metrics
    if names is None:
        return ()
    if names == "auto":
        return default_metrics(said.num_classes, probabilities=said.probabilities is not None)
    check_metrics_of_task(evaluation, said.num_classes)
    return tuple(names)


def answers_of(
    found: RowPredictions,
    num_classes: int | None,
    *,
    target_sums: Vector | None = None,
    scale: float = 1.0,
) -> Answers:
    """Return stored predictions as metrics take them.

    Args:
        found: The predictions.
        num_classes: The number of classes; None for a regression.
        target_sums: Of a classification, the training rows of each class: of two, the rarer is the
            positive one. Where they are not known, the test rows decide.
        scale: Of a regression, how many units of the target 1 is.
    """
    positive = 1
    if num_classes == 2:
        seen = np.bincount(found.targets.astype(np.int64), minlength=2)
        positive = rarer_class(seen if target_sums is None else target_sums)
    return Answers(
        targets=found.targets,
        predictions=found.predictions,
        losses=found.losses,
        probabilities=found.probabilities,
        num_classes=num_classes,
        positive=positive,
        scale=scale,
    )


def target_scale(encoder: Mapping[str, Any] | None) -> float:
    """Return how many units of the target 1 is, as `encoder.json` says; 1 where there is none.

    >>> target_scale({"target_scale": 250.0}), target_scale(None)
    (250.0, 1.0)
    """
    return float((encoder or {}).get("target_scale") or 1.0)


def client_metrics(
    said: Answers, clients: Indices, num_clients: int, names: Sequence[str]
) -> tuple[Mapping[str, float], ...]:
    """Return the metrics of every client; NaN where one is not defined.

    Args:
        said: What the model says of all test rows.
        clients: Of shape `(n,)`: whose they are.
        num_clients: How many clients there are.
        names: The metrics.
    """
    parts = [said.take(np.flatnonzero(clients == client)) for client in range(num_clients)]
    return tuple({name: measure(name, part) for name in names} for part in parts)


def with_metrics(
    spec: Spec,
    facts: ClientFacts,
    predictions: bytes | None,
    summary: Summary,
    table: tuple[ClientResult, ...],
) -> tuple[Summary, tuple[ClientResult, ...]]:
    """Add the metrics that a spec asks for to what a run is remembered by and to its clients.

    Args:
        spec: The spec.
        facts: What is known of the clients.
        predictions: What the model says of every test row, as it is stored; None where that is
            neither class scores nor values, which no metric is for.
        summary: What the run is remembered by.
        table: Every client.
    """
    if spec.evaluation.metrics is None or predictions is None:
        return summary, table
    found = read_predictions(predictions)
    said = answers_of(
        found,
        facts.num_classes,
        target_sums=facts.target_sums,
        scale=target_scale(facts.encoder),
    )
    names = wanted_metrics(spec.evaluation, said)
    by_client = client_metrics(said, found.clients, len(facts.sizes["test"]), names)
    whole = _summary(said, facts, by_client, found.clients, known_ids(spec.attack.clients))
    return replace(summary, metrics=whole), tuple(
        replace(client, metrics=by_client[client.client_id]) for client in table
    )


def _summary(
    said: Answers,
    facts: ClientFacts,
    by_client: Sequence[Mapping[str, float]],
    clients: Indices,
    malicious: Collection[int],
) -> MetricsSummary | None:
    names = list(by_client[0])
    if not names:
        return None
    honest = said.take(np.flatnonzero(~np.isin(clients, list(malicious))))
    values = [mine[names[0]] for i, mine in enumerate(by_client) if i not in malicious]
    known = [value for value in values if math.isfinite(value)]
    kept: dict[str, Any] = asdict(fairness(known)) if known else {}
    return MetricsSummary(
        pooled={name: measure(name, honest) for name in names},
        over_clients=names[0],
        fairness={key: value for key, value in kept.items() if key in OF_A_LOSS} or None,
        positive=_name(facts, said.positive) if said.num_classes == 2 else None,
        classes=_classes(honest, facts),
    )


def _classes(said: Answers, facts: ClientFacts) -> tuple[ClassResult, ...]:
    """Say of every class how many test rows it has, how many were found, how many were given."""
    return tuple(
        ClassResult(
            name=_name(facts, label),
            rows=int((said.targets == label).sum()),
            found=int(((said.targets == label) & (said.predictions == label)).sum()),
            predicted=int((said.predictions == label).sum()),
        )
        for label in range(said.num_classes or 0)
    )


def _name(facts: ClientFacts, label: int) -> str:
    return facts.class_names[label] if facts.class_names else str(label)
