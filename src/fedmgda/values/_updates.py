"""What a server can ask about the updates its clients sent, whoever holds them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

import numpy as np

from fedmgda.minnorm import Products, inner_products, prefers_rows, row_norms, weighted_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedmgda._types import Matrix, Vector

__all__ = ["DenseUpdates", "Updates", "fault", "short_vectors"]


@runtime_checkable
class Updates(Protocol):
    """m vectors g_i = w_t - w_i of length d, of which a rule learns no more than it needs.

    They may lie in memory, in a file, on other machines, or be known by their sketches only.

    Attributes:
        num_rows: m.
        num_columns: d.
        dtype: Of the vectors: float32 or float64.
    """

    num_rows: int
    num_columns: int
    dtype: np.dtype[Any]

    def norms(self) -> Vector:
        """Return ‖g_i‖, of shape `(m,)`, float64."""

    def gramian(self) -> Matrix:
        """Return K with K_ij = ⟨g_i, g_j⟩, of shape `(m, m)`, float64."""

    def normalized_gramian(self) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of g_i / ‖g_i‖, and the lengths they were divided by."""

    def combine(self, weights: Vector) -> Vector:
        """Return Σ w_i g_i, of shape `(d,)`, in the dtype of the updates."""

    def inner(self, direction: Vector) -> Vector:
        """Return ⟨g_i, d⟩, of shape `(m,)`, float64."""

    def select(self, rows: NDArray[Any]) -> Updates:
        """Return the updates of the given rows, a boolean mask or indices."""

    def faults(self) -> list[str | None]:
        """Return for each row why no rule may use it (one short clause), or None."""


@runtime_checkable
class _AsArray(Protocol):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...


@final
class DenseUpdates:
    """Updates in memory.

    Norms and Gram matrix are computed once and kept: a rule, the engine and the record of its round
    all ask for them.

    Attributes:
        rows: Of shape `(m, d)`, float32 or float64; row i is g_i. Nobody writes to it any more.

    >>> updates = DenseUpdates(np.array([[3.0, 4.0], [0.0, 2.0]]))
    >>> updates.norms().tolist(), updates.combine(np.array([1.0, 0.5])).tolist()
    ([5.0, 2.0], [3.0, 5.0])
    """

    def __init__(self, rows: Matrix) -> None:
        if rows.ndim != 2:
            raise ValueError(f"updates must have shape (m, d), got {rows.shape}.")
        floating = rows.dtype in (np.float32, np.float64)
        self.rows = rows.view() if floating else rows.astype(np.float64)
        self.rows.flags.writeable = False
        self.num_rows, self.num_columns = rows.shape
        self.dtype = self.rows.dtype
        self._products: Products | None = None
        self._norms: Vector | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.rows, dtype=dtype, copy=copy)

    def norms(self) -> Vector:
        """Return ‖g_i‖, of shape `(m,)`."""
        if self._norms is None:
            self._norms = row_norms(self.rows)
            self._norms.flags.writeable = False
        return self._norms

    def gramian(self) -> Matrix:
        """Return K with K_ij = ⟨g_i, g_j⟩."""
        return self._multiplied().gramian()

    def normalized_gramian(self) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of g_i / ‖g_i‖, and the lengths they were divided by."""
        return self._multiplied().normalized()

    def combine(self, weights: Vector) -> Vector:
        """Return Σ w_i g_i."""
        return weighted_sum(self.rows, weights)

    def inner(self, direction: Vector) -> Vector:
        """Return ⟨g_i, d⟩."""
        return inner_products(self.rows, direction)

    def select(self, rows: NDArray[Any]) -> DenseUpdates:
        """Return the updates of the given rows."""
        return DenseUpdates(self.rows[rows])

    def faults(self) -> list[str | None]:
        """Return for each row why no rule may use it."""
        return [fault(row) for row in self.rows]

    def _multiplied(self) -> Products:
        if self._products is None:
            self._products = Products.of(self.rows)
        return self._products


def short_vectors(updates: Updates) -> Matrix | None:
    """Return the vectors g_i themselves, of shape `(m, d)`, where no m x m matrix is wanted.

    That is where they are many more than they are long (`prefers_rows`), so that their Gram matrix
    would be larger than they are; None elsewhere, and where their holder does not give them away.
    """
    few = not prefers_rows(updates.num_rows, updates.num_columns)
    return None if few or not isinstance(updates, _AsArray) else np.asarray(updates)


def fault(update: Vector) -> str | None:
    """Say why a vector cannot enter a Gram matrix, or return None."""
    # A square is finite only if all entries are, and costs one pass without a temporary; only
    # where it is not are they looked at one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.vdot(update, update)
    if np.isfinite(square):
        return None
    if not np.isfinite(update).all():
        counts = Counter({"NaN": int(np.isnan(update).sum()), "Inf": int(np.isinf(update).sum())})
        kind, number = counts.most_common(1)[0]
        return f"{number} {kind} in the update"
    # The Gram matrix is in float64, which holds the square of every float32.
    return "the square of the update is beyond float64" if update.dtype == np.float64 else None
