"""The test losses of single clients, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.metrics import constant_losses, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices, Vector
    from fedmgda.experiments._rows import EvaluationRow, RowPredictions

__all__ = ["FEW", "ClientLosses", "by_client", "client_losses", "tested"]

FEW = 10
"""Of fewer test examples nothing sure is said about a single client."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClientLosses:
    """Mean losses of k clients on their test examples.

    Attributes:
        client_ids: Of shape `(k,)`.
        examples: Of shape `(k,)`: how many test examples each has.
        losses: Of shape `(k,)`: under the trained model.
        errors: Of shape `(k,)`: the standard error of each; NaN for a single example.
        constant: Of shape `(k,)`: of the constant predictor; None where it is not known.
        errors_of_difference: Of shape `(k,)`: the standard error of `losses` - `constant`, row by
            row on the same examples.
    """

    client_ids: Indices
    examples: Vector
    losses: Vector
    errors: Vector
    constant: Vector | None
    errors_of_difference: Vector | None

    def worse_than_constant(self) -> list[int]:
        """Return who is above the constant predictor by more than chance makes it."""
        if self.constant is None or self.errors_of_difference is None:
            return []
        return self._above(self.losses - self.constant, self.errors_of_difference)

    def worse_than(self, initial: EvaluationRow) -> list[int]:
        """Return who is above its loss under another model by more than its own loss may be off.

        The other model's losses on single examples are not known, so its mean is taken for certain,
        and nobody can say how often chance alone does so.
        """
        before = dict(zip(initial.client_ids, initial.losses, strict=True))
        then = np.array([before.get(int(client), np.nan) for client in self.client_ids])
        return self._above(self.losses - then, self.errors)

    def _above(self, differences: Vector, errors: Vector) -> list[int]:
        with np.errstate(invalid="ignore"):
            above = differences > t_quantile(self.examples - 1) * errors
        sure = (self.examples >= FEW) & above
        return [int(client) for client in self.client_ids[sure]]


def tested(row: EvaluationRow, malicious: Sequence[int]) -> list[int]:
    """Return the honest clients that have test examples and could be evaluated."""
    left_out = {*malicious, *(failure.client_id for failure in row.failures)}
    sizes = zip(row.client_ids, row.num_examples, strict=True)
    return [client for client, size in sizes if size > 0 and client not in left_out]


def client_losses(
    found: RowPredictions,
    clients: Sequence[int],
    target_sums: Vector | None,
    weights: Vector | None = None,
) -> ClientLosses:
    """Return the losses of some clients from the stored predictions of every test example.

    Args:
        found: The predictions.
        clients: The ids of the k clients.
        target_sums: What the constant predictor needs; None where it is not known.
        weights: Of shape `(num_classes,)`, by what the loss of each class is multiplied; then the
            constant predictor is the one that has the least weighted loss.
    """
    ids = np.array(sorted(clients), np.int64)
    factors = 1.0 if weights is None else weights[found.targets]
    losses = found.losses.astype(np.float64) * factors
    examples, means, errors = by_client(found.clients, losses, ids)
    constant = of_difference = None
    if target_sums is not None:
        sums = target_sums if weights is None else target_sums * weights
        rows = constant_losses(found, sums) * factors
        _, constant, _ = by_client(found.clients, rows, ids)
        _, _, of_difference = by_client(found.clients, losses - rows, ids)
    return ClientLosses(
        client_ids=ids,
        examples=examples,
        losses=means,
        errors=errors,
        constant=constant,
        errors_of_difference=of_difference,
    )


def by_client(owners: Indices, values: Vector, ids: Indices) -> tuple[Vector, Vector, Vector]:
    """Return number, mean and standard error of the values of each client."""
    length = int(max(owners.max(initial=0), ids.max(initial=0))) + 1
    with np.errstate(all="ignore"):  # a client without examples, or a loss that is not finite
        counts = np.bincount(owners, minlength=length).astype(np.float64)
        means = np.bincount(owners, values, length) / counts
        squares = np.bincount(owners, (values - means[owners]) ** 2, length)
        errors = np.sqrt(squares / (counts - 1) / counts)
    return counts[ids], means[ids], errors[ids]
