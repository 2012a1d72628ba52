"""Metrics of a regression, in the units of the target; a mean of nothing is NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["mae", "r2", "rmse"]


def rmse(said: Answers) -> Vector:
    """Return the root of the mean squared error."""
    return said.scale * np.sqrt(_mean(_errors(said) ** 2))


def mae(said: Answers) -> Vector:
    """Return the mean absolute error."""
    return said.scale * _mean(np.abs(_errors(said)))


def r2(said: Answers) -> Vector:
    """Return 1 minus the squared error over that of the mean of these very targets.

    It is not defined for fewer than two examples, nor where all targets are equal.
    """
    targets = said.targets.astype(np.float64)
    spread = (targets - _mean(targets)[..., None]) ** 2
    total, left = spread.sum(axis=-1), (_errors(said) ** 2).sum(axis=-1)
    share = np.divide(left, total, out=np.full(total.shape, np.nan), where=total > 0)
    return 1.0 - share


def _errors(said: Answers) -> Matrix:
    return said.predictions.astype(np.float64) - said.targets.astype(np.float64)


def _mean(values: Matrix) -> Vector:
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values.mean(axis=-1))
