"""How far a model is from Pareto stationarity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedmgda.minnorm import euclidean_norm, gramian, min_norm, min_norm_of_rows, prefers_rows
from fedmgda.values import DenseUpdates, Updates, short_vectors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedmgda._types import Matrix

__all__ = ["pareto_residual"]

_BLOCK = 65_536  # columns per float64 copy: 0.5 MB a row, whatever d is


def pareto_residual(gradients: Matrix | Updates) -> float:
    """Return the length of the shortest convex combination of the users' gradients.

    This is ω(w) = min ‖Σ λ_i ∇f_i(w)‖ over λ >= 0 with Σ λ_i = 1. It is 0 exactly where w is
    Pareto stationary: no direction lowers every user's loss. Use full gradients of all users; a
    round's local updates give the residual of its participants only, and only roughly.

    The weights come from the Gram matrix, so a true 0 appears as at most about 1e-7 of the longest
    gradient. The length is that of the combination itself, hence never below the true minimum by
    more than rounding.

    Args:
        gradients: Of shape `(m, d)`, finite: row i is ∇f_i(w), as it is, not normalised. They need
            not be in memory.

    Raises:
        ValueError: If there is no user or a gradient is not finite.

    References:
        Section 4 of the paper (multi-objective minimization).

    >>> round(pareto_residual(np.array([[2.0, 0.0], [0.0, 2.0]])), 12) == round(2**0.5, 12)
    True
    >>> pareto_residual(np.array([[1.0], [2.0], [3.0]]))
    1.0
    """
    if isinstance(gradients, DenseUpdates):
        gradients = gradients.rows
    if isinstance(gradients, Updates):
        if not gradients.num_rows:
            raise ValueError("gradients must be those of at least one user, got none.")
        _check([why is not None for why in gradients.faults()])
        vectors = short_vectors(gradients)
        found = min_norm(gradients.gramian()) if vectors is None else min_norm_of_rows(vectors)
        lam = found.lam
        return euclidean_norm(gradients.combine(lam), gradients.num_rows)
    if gradients.ndim != 2 or len(gradients) == 0:
        raise ValueError(f"gradients must have shape (m, d) with m >= 1, got {gradients.shape}.")
    _check(~np.isfinite(gradients).all(axis=1))
    by_rows = prefers_rows(*gradients.shape)
    lam = (min_norm_of_rows(gradients) if by_rows else min_norm(gramian(gradients))).lam
    squares = (
        float(np.sum((lam @ gradients[:, start : start + _BLOCK].astype(np.float64)) ** 2))
        for start in range(0, gradients.shape[1], _BLOCK)
    )
    return math.sqrt(math.fsum(squares))


def _check(bad: ArrayLike) -> None:
    positions = np.flatnonzero(bad)
    if positions.size:
        raise ValueError(
            f"gradients must be finite, the one at position {positions[0]} is not; leave that user"
            " out."
        )
