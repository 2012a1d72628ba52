"""Whether a model is better than what it has to beat, and whether that may be chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda.experiments._client_losses import by_client
from fedmgda.experiments._evidence import average_loss
from fedmgda.experiments._verdict import LEARNED, MAY_HAVE_LEARNED
from fedmgda.metrics import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices, Vector
    from fedmgda.experiments._client_losses import ClientLosses
    from fedmgda.experiments._evidence import Evidence
    from fedmgda.experiments._rows import EvaluationRow, RowPredictions

__all__ = ["MANY", "is_beyond_chance", "learned"]

MANY = 3
"""Clients that tell what is chance; of fewer, their single rows tell."""

_BETTER = 0.99  # of another loss: less than one hundredth below it is no learning
_MORE = 0.05  # of the answers


def learned(evidence: Evidence, clients: Sequence[int], losses: ClientLosses | None) -> str | None:
    """Return "learned", "may have learned", or None where the records show neither.

    Args:
        evidence: The records.
        clients: The k honest clients that have test examples.
        losses: Of those clients, where the predictions tell them.
    """
    ids = np.array(sorted(clients), np.int64)
    found = _by_loss(evidence, ids, losses)
    if found != LEARNED and _answers_better(evidence, ids):
        return LEARNED
    return found


def is_beyond_chance(
    gains: Vector, errors: Vector | None = None, examples: Vector | None = None
) -> bool:
    """Tell whether the mean of the gains of k clients is above zero by more than chance makes it.

    It must exceed the 97.5 % quantile of Student's t times its standard error: over the clients,
    with k - 1 degrees of freedom; for fewer than three over the examples of each, where they are
    known.

    Args:
        gains: Of shape `(k,)`.
        errors: Of shape `(k,)`: the standard error of each, over its examples.
        examples: Of shape `(k,)`: how many each has.

    >>> is_beyond_chance(np.array([0.1, 0.2, 0.3])), is_beyond_chance(np.array([0.2, 0.21, 0.22]))
    (False, True)
    """
    k = len(gains)
    if k < MANY and errors is not None and examples is not None:
        error, freedom = np.sqrt(np.sum(errors**2)) / k, examples.sum() - k
    elif k > 1:
        error, freedom = np.std(gains, ddof=1) / np.sqrt(k), k - 1
    else:
        return False
    return bool(freedom > 0 and np.mean(gains) > t_quantile(freedom) * error)


def _by_loss(evidence: Evidence, ids: Indices, losses: ClientLosses | None) -> str | None:
    first, last = average_loss(evidence.evaluations[0]), average_loss(evidence.judged)
    constant = None if losses is None or losses.constant is None else float(losses.constant.mean())
    known = [loss for loss in (first, constant) if loss is not None]
    if last is None or not all(last <= _BETTER * loss for loss in known):
        return None
    if (
        losses is not None
        and losses.constant is not None
        and (first is None or constant == min(known))
    ):
        gains, errors = losses.constant - losses.losses, losses.errors_of_difference
    else:
        before = _of(evidence.evaluations[0], evidence.evaluations[0].losses, ids)
        gains = before - _of(evidence.judged, evidence.judged.losses, ids)
        # What the initial model loses on single rows is not kept: its mean is taken for certain.
        errors = None if losses is None else losses.errors
    examples = None if losses is None else losses.examples
    return LEARNED if is_beyond_chance(gains, errors, examples) else MAY_HAVE_LEARNED


def _answers_better(evidence: Evidence, ids: Indices) -> bool:
    """Tell whether a classifier with a large loss still answers better than it did, and a constant.

    Cross-entropy punishes confidence: on clients that differ it may rise while answers get better.
    The constant is the one class that, averaged over the same clients, is right most often.
    """
    found = evidence.predictions
    if found is None or found.targets.dtype.kind == "f" or not len(found.targets):
        return False
    right = (found.predictions == found.targets).astype(np.float64)
    before = _of(evidence.evaluations[0], evidence.evaluations[0].accuracies, ids)
    examples, own, errors = by_client(found.clients, right, ids)
    answers = _best_constant(found, ids)
    _, constant, _ = by_client(found.clients, answers, ids)
    others = before
    if not before.mean() > constant.mean():
        others = constant
        _, _, errors = by_client(found.clients, right - answers, ids)
    enough = own.mean() > others.mean() + _MORE
    return bool(enough) and is_beyond_chance(own - others, errors, examples)


def _best_constant(found: RowPredictions, ids: Indices) -> Vector:
    """Return of every row whether the best constant answer is right there, 1 or 0."""
    rows = np.isin(found.clients, ids)
    weights = 1 / np.bincount(found.clients)[found.clients[rows]]
    best = np.argmax(np.bincount(found.targets[rows], weights)) if rows.any() else -1
    return (found.targets == best).astype(np.float64)


def _of(row: EvaluationRow, values: Vector, ids: Indices) -> Vector:
    """Return the values of some clients; NaN of one that is not there."""
    told = dict(zip(row.client_ids, values, strict=True))
    return np.array([told.get(int(client), np.nan) for client in ids])
