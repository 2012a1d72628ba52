"""The Gram matrices of the rounds, one behind the other in a file of float64 numbers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._blas import blas_threads
from fedmgda.experiments._rows import Gram, GramPlace
from fedmgda.values import short_vectors

if TYPE_CHECKING:
    from fedmgda._types import Indices, Matrix, Vector
    from fedmgda.federation import RoundRecord
    from fedmgda.values import Updates

__all__ = ["cone_gram_bytes", "gram_bytes", "gram_place", "gram_size", "read_gram"]

_MOST = 64  # columns that are kept of a matrix
_MOST_IN_A_STALL = 512  # of a whole one, in the few stalled rounds that keep it; never more
_NUMBER = np.dtype("<f8")


def gram_bytes(record: RoundRecord, *, whole: bool = False) -> tuple[bytes, int] | None:
    """Return what is kept of the Gram matrix of a round, row by row, and its number of columns.

    Of at most 64 participants it is the whole matrix; of more, the columns of those whose λ is not
    0, which are all that the certificate of λ needs; and nothing if those are more than 64.

    Args:
        record: The round.
        whole: Whether a stalled round of up to 512 participants keeps the whole matrix: who blocks
            is seen by leaving clients out, which needs every product.
    """
    cohort, step = record.cohort, record.aggregate
    m = len(cohort.client_ids)
    columns = _columns(m, None if step is None else step.lam)
    if whole and step is not None and step.stalled and m <= _MOST_IN_A_STALL:
        columns = np.arange(m)
    if columns is None:
        return None
    with blas_threads(cohort.updates.num_rows**2 * cohort.updates.num_columns):
        matrix = _products(cohort.updates, columns)
    return np.ascontiguousarray(matrix, _NUMBER).tobytes(), len(columns)


def cone_gram_bytes(record: RoundRecord) -> tuple[bytes, int] | None:
    """Return the Gram matrix of the unit gradients of a protected round, and its columns.

    Of more than 64 participants it is the columns of those whose λ or v is not 0, as above.
    """
    protected = record.protected
    if protected is None:
        return None
    columns = _columns(len(protected.gramian), protected.omega_lam + protected.multipliers)
    if columns is None:
        return None
    matrix = np.ascontiguousarray(protected.gramian[:, columns], _NUMBER)
    return matrix.tobytes(), len(columns)


def gram_place(content: bytes, columns: int, offset: int) -> GramPlace:
    """Return what the line of a round says about its matrix."""
    rows = len(content) // (_NUMBER.itemsize * columns)
    digest = hashlib.sha256(content).hexdigest()
    return GramPlace(offset=offset, rows=rows, columns=columns, sha256=digest)


def read_gram(content: bytes, place: GramPlace, lam: Vector | None) -> Gram:
    """Return the matrix whose bytes lie at a place.

    Raises:
        ValueError: If they are not those that were written there.
    """
    whole = place.columns == place.rows <= _MOST_IN_A_STALL
    columns = np.arange(place.rows) if whole else _columns(place.rows, lam)
    if columns is None or place.columns != len(columns):
        raise ValueError("it has other columns than the line of the round says")
    if hashlib.sha256(content).hexdigest() != place.sha256:
        raise ValueError("its bytes are not those whose digest stands in the line of the round")
    matrix = np.frombuffer(content, _NUMBER).reshape(place.rows, place.columns)
    return Gram(matrix=matrix, columns=columns)


def gram_size(place: GramPlace) -> int:
    """Return how many bytes a matrix has."""
    return _NUMBER.itemsize * place.rows * place.columns


def _columns(rows: int, lam: Vector | None) -> Indices | None:
    """Return the places of the participants whose columns are kept; None keeps nothing."""
    if rows <= _MOST:
        return np.arange(rows) if rows else None
    support = np.empty(0, np.int64) if lam is None else np.flatnonzero(lam)
    return support if 0 < len(support) <= _MOST else None


def _products(updates: Updates, columns: Indices) -> Matrix:
    """Return columns of the Gram matrix, the whole of which may be far too large."""
    vectors = short_vectors(updates) if len(columns) < updates.num_rows else None
    if vectors is None:
        return updates.gramian()[:, columns]
    rows = vectors.astype(np.float64)
    products: Matrix = rows @ rows[columns].T
    return products
