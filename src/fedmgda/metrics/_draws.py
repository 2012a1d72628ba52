"""Samples and swaps of rows, drawn once for all tests that share rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.metrics._intervals import in_parts, resamples

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fedmgda._types import Flags, Indices, Vector
    from fedmgda.metrics._answers import Answers

__all__ = ["RowDraws"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowDraws:
    """What happens to each of n rows in every draw, whichever tests it is part of.

    A row that several seeds test is one row: it is drawn as often, and swapped or not, in all of
    them. To draw it anew for each would take it for as many rows, and be too sure.

    Attributes:
        samples: Of shape `(draws, n)`: samples of the rows with replacement.
        swaps: Of shape `(draws, n)`, truth values: whose answers are swapped.
    """

    samples: NDArray[np.int64]
    swaps: Flags

    @classmethod
    def of(cls, num_rows: int, draws: int, rng: np.random.Generator) -> RowDraws:
        """Draw for n rows, at least one."""
        samples = resamples(num_rows, draws, rng)
        return cls(samples=samples, swaps=_swaps(num_rows, draws, rng))

    def resampled(
        self, function: Callable[[NDArray[np.int64]], Vector], places: Indices, said: Answers
    ) -> Vector:
        """Apply a function to the samples of some rows, as far as each draw has them.

        Args:
            function: From places among those rows, of shape `(k, m)`, to values of shape `(k,)`.
            places: Of shape `(r,)`: which of the n rows they are.
            said: What is said of them.

        Returns:
            Of shape `(draws,)`.
        """
        inside = np.full(self.samples.shape[1], -1)
        inside[places] = np.arange(len(places))

        def of_part(part: NDArray[np.int64]) -> Vector:
            found = inside[part]
            sizes = (found >= 0).sum(axis=1)
            values = np.empty(len(part))
            for size in np.unique(sizes):  # samples of one size are one array
                equal = found[sizes == size]
                values[sizes == size] = function(equal[equal >= 0].reshape(len(equal), size))
            return values

        return in_parts(of_part, self.samples, said)


def _swaps(num_rows: int, draws: int, rng: np.random.Generator) -> Flags:
    """Return which rows are swapped, of shape `(draws, n)`: none of them in one, so no p is 0.

    With every choice comes the opposite one, so that neither model is favoured.
    """
    if num_rows < 62 and draws % (1 << num_rows) == 0:
        numbers = rng.permutation(draws)
        return (numbers[:, None] >> np.arange(num_rows)) & 1 == 1
    half = rng.integers(0, 2, (draws // 2, num_rows), dtype=np.int64) == 1
    half[0] = False
    return np.stack([half, ~half], axis=1).reshape(-1, num_rows)
