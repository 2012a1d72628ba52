"""The updates of a round as its record knows them: lengths and products, never the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector
    from fedmgda.experiments._rows import Gram

__all__ = ["RecordedUpdates"]


@final
class RecordedUpdates:
    """The m updates of a round, of which only norms and inner products were written down.

    What needs the vectors themselves is refused with a ValueError.
    """

    def __init__(self, norms: Vector, gram: Gram | None, num_columns: int = 0) -> None:
        """Take ‖g_i‖, of shape `(m,)`, and what was kept of the Gram matrix."""
        self.num_rows, self.num_columns = len(norms), num_columns
        self.dtype = np.dtype(np.float32)
        self._norms, self._gram = norms, gram

    def norms(self) -> Vector:
        """Return ‖g_i‖."""
        return self._norms

    def inner_of(self, weights: Vector) -> Vector:
        """Return ⟨g_i, Σ w_j g_j⟩, of shape `(m,)`, for weights that are 0 outside the columns."""
        gram = self._known()
        outside = np.ones(len(weights), dtype=bool)
        outside[gram.columns] = False
        if np.any(weights[outside]):
            raise ValueError("the columns of some participants with a weight were not kept")
        with np.errstate(all="ignore"):
            return gram.matrix @ weights[gram.columns]

    def gramian(self) -> Matrix:
        """Return the whole Gram matrix."""
        gram = self._known()
        if gram.matrix.shape[0] != gram.matrix.shape[1]:
            raise ValueError("the Gram matrix was not kept whole")
        return gram.matrix

    def normalized_gramian(self) -> tuple[Matrix, Vector]:
        """Return the Gram matrix of g_i / ‖g_i‖, and ‖g_i‖."""
        matrix = self.gramian()
        with np.errstate(all="ignore"):
            root = np.sqrt(np.diagonal(matrix))
            inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
            unit = np.clip(matrix * np.outer(inverse, inverse), -1.0, 1.0)
        np.fill_diagonal(unit, (root > 0).astype(np.float64))
        return unit, self._norms

    def combine(self, weights: Vector) -> NoReturn:
        """Refuse."""
        del weights
        raise ValueError("the updates themselves are not in the record")

    def inner(self, direction: Vector) -> NoReturn:
        """Refuse."""
        del direction
        raise ValueError("the updates themselves are not in the record")

    def select(self, rows: Any) -> NoReturn:
        """Refuse."""
        del rows
        raise ValueError("the updates themselves are not in the record")

    def faults(self) -> list[str | None]:
        """Return that no row is known to be of no use."""
        return [None] * self.num_rows

    def _known(self) -> Gram:
        if self._gram is None:
            raise ValueError("the Gram matrix was not kept")
        return self._gram
