"""Metrics of a classification; a share of nothing is NaN, never a warning.

They are those of scikit-learn, which tests hold them against, for many samples at once: intervals
need thousands of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["accuracy", "auc", "balanced_accuracy", "brier", "f1", "log_loss", "ranks_of", "recall"]


def accuracy(said: Answers) -> Vector:
    """Return the share of examples whose class is the one given."""
    return _share((said.predictions == said.targets).sum(axis=-1), said.num_rows)


def balanced_accuracy(said: Answers) -> Vector:
    """Return the mean, over the classes that occur, of the share of their examples found."""
    return _mean_of_known([_found(said, label) for label in _classes(said)])


def recall(said: Answers) -> Vector:
    """Return the share of the positive examples found; of several classes, the mean over them."""
    return _found(said, said.positive) if said.num_classes == 2 else balanced_accuracy(said)


def f1(said: Answers) -> Vector:
    """Return 2 TP / (2 TP + FP + FN) of the positive class; of several classes, their mean.

    A class that neither occurs nor is given anywhere does not count.
    """
    if said.num_classes == 2:
        return _f1_of(said, said.positive)
    return _mean_of_known([_f1_of(said, label) for label in _classes(said)])


def auc(said: Answers) -> Vector:
    """Return the area under the ROC curve: how often a positive scores above a negative.

    Of several classes, the mean over those that occur, each against all others. It is not defined
    where there is one class only.
    """
    odds = said.probabilities
    if odds is None:
        return _nothing(said)
    labels = [said.positive] if said.num_classes == 2 else _classes(said)
    return _mean_of_known([_area(odds[..., k], said.targets == k) for k in labels])


def log_loss(said: Answers) -> Vector:
    """Return the mean cross-entropy."""
    return _share(said.losses.astype(np.float64).sum(axis=-1), said.num_rows)


def brier(said: Answers) -> Vector:
    """Return the mean squared distance of the probabilities from the truth.

    Of two classes that of the positive one, which lies in [0, 1]; of several the sum over classes,
    which lies in [0, 2].
    """
    odds = said.probabilities
    if odds is None:
        return _nothing(said)
    if said.num_classes == 2:
        squares = (odds[..., said.positive] - (said.targets == said.positive)) ** 2
    else:
        truth = said.targets[..., None] == np.arange(odds.shape[-1])
        squares = ((odds - truth) ** 2).sum(axis=-1)
    return _share(squares.astype(np.float64).sum(axis=-1), said.num_rows)


def _classes(said: Answers) -> list[Any]:
    """Return the classes that occur or are given, in order."""
    return np.union1d(said.targets, said.predictions).tolist()


def _found(said: Answers, label: int) -> Vector:
    of_it = said.targets == label
    return _share((of_it & (said.predictions == label)).sum(axis=-1), of_it.sum(axis=-1))


def _f1_of(said: Answers, label: int) -> Vector:
    of_it, given = said.targets == label, said.predictions == label
    right = 2 * (of_it & given).sum(axis=-1)
    return _share(right, of_it.sum(axis=-1) + given.sum(axis=-1))


def ranks_of(scores: Matrix) -> Matrix:
    """Return the ranks along the last axis, the lowest being 1; equal scores share their mean.

    >>> ranks_of(np.array([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    num_rows = scores.shape[-1]
    order = np.argsort(scores, axis=-1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=-1)
    edge = np.ones((*scores.shape[:-1], 1), bool)
    steps = np.concatenate([edge, ranked[..., 1:] != ranked[..., :-1], edge], axis=-1)
    places = np.arange(num_rows)
    first = np.maximum.accumulate(np.where(steps[..., :-1], places, 0), axis=-1)
    ends = np.where(steps[..., 1:], places, num_rows)[..., ::-1]
    last = np.minimum.accumulate(ends, axis=-1)[..., ::-1]
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return ranks


def _area(scores: Matrix, positive: NDArray[Any]) -> Vector:
    """Return the area from the mean rank of the positives, ties being worth one half."""
    if not scores.shape[-1]:
        return np.full(scores.shape[:-1], np.nan)
    positives = np.broadcast_to(positive, scores.shape).sum(axis=-1)
    wins = (ranks_of(scores) * positive).sum(axis=-1) - positives * (positives + 1) / 2
    area = _share(wins, positives * (scores.shape[-1] - positives))
    return np.where(np.isnan(scores).any(axis=-1), np.nan, area)  # a diverged model has no ranks


def _share(part: Any, whole: Any) -> Vector:
    """Divide; a share of nothing is NaN."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)


def _mean_of_known(values: list[Vector]) -> Vector:
    if not values:
        return np.array(np.nan)
    table = np.stack(values)
    known = ~np.isnan(table)
    return _share(np.where(known, table, 0.0).sum(axis=0), known.sum(axis=0))


def _nothing(said: Answers) -> Vector:
    return np.full(said.targets.shape[:-1], np.nan)
