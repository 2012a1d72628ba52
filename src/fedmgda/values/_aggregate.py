"""From the weights a rule chose to the direction of the server, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm import euclidean_norm
from fedmgda.values._evidence import is_no_direction, rounding_of_products

if TYPE_CHECKING:
    from fedmgda._types import Vector
    from fedmgda.values._cohort import Cohort

__all__ = ["Aggregate", "Weighing", "aggregate"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighing:
    """What a rule decided about a cohort of m clients.

    Attributes:
        weights: Of shape `(m,)`: d = Σ weights_i g_i, for the updates as they were sent.
        lam: Of shape `(m,)`, λ: the weight of each client's row (normalised if the rule does so).
        gap: The duality gap of the problem λ solves; 0 for a rule that does not choose λ.
        dropped: Clients whose update was zero and that the rule left out.
        direction: Of shape `(d,)`, where the rule forms one that is no weighted sum and so needs
            the rows themselves (a median of each coordinate, say); None takes the sum.
    """

    weights: Vector
    lam: Vector
    gap: float = 0.0
    dropped: tuple[int, ...] = ()
    direction: Vector | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aggregate:
    """What became of a cohort, with the evidence of what it does to each participant.

    Attributes:
        client_ids: The m clients, in the order of the other fields.
        direction: Of shape `(d,)`: the server subtracts a multiple of it.
        lam: Of shape `(m,)`, λ: the weight of each client's row (normalised if the rule does so).
        norm: ‖d‖.
        gap: The duality gap of the problem λ solves; 0 for a rule that does not choose λ.
        inner: Of shape `(m,)`, ⟨g_i, d⟩ for the updates as they were sent, computed from the
            direction itself: to first order, moving along -d changes client i's loss by -⟨g_i, d⟩.
        rounding: Of shape `(m,)`: how far rounding can have moved each ⟨g_i, d⟩
            (`rounding_of_products`).
        stalled: Whether the updates cancel: ‖d‖ <= 2^-20 Σ |w_i| ‖g_i‖ (2^-20 times the longest
            update for a direction that is no weighted sum). What is left of d is rounding, and
            says nothing about anybody.
        dropped: Clients whose update was zero and that the rule left out.
    """

    client_ids: tuple[int, ...]
    direction: Vector
    lam: Vector
    norm: float
    gap: float
    inner: Vector
    rounding: Vector
    stalled: bool
    dropped: tuple[int, ...] = ()

    @property
    def sacrificed(self) -> tuple[int, ...]:
        """The clients whose ⟨g_i, d⟩ is negative beyond rounding, or NaN; nobody in a stall."""
        if self.stalled:
            return ()
        return tuple(
            client
            for client, value, bound in zip(self.client_ids, self.inner, self.rounding, strict=True)
            if not value >= -bound
        )


def aggregate(cohort: Cohort, weighing: Weighing) -> Aggregate:
    """Form d = Σ weights_i g_i and measure what it does to every client of the cohort.

    Sums are in float64; the direction has the dtype of the updates, and ‖d‖ and ⟨g_i, d⟩ are taken
    of that very vector, so that they speak of the step the server really makes.
    """
    updates = cohort.updates
    _check(weighing, cohort)
    direction, norms = weighing.direction, updates.norms()
    if direction is None:
        direction = updates.combine(weighing.weights)
        with np.errstate(over="ignore"):
            summed = float(np.abs(weighing.weights) @ norms)
    elif direction.shape != (updates.num_columns,):
        raise ValueError(
            f"A rule must give a direction of {updates.num_columns} entries, got an array of shape "
            f"{direction.shape}."
        )
    else:
        summed = float(norms.max())
    norm = euclidean_norm(direction, updates.num_rows)
    return Aggregate(
        client_ids=cohort.client_ids,
        direction=direction,
        lam=weighing.lam,
        norm=norm,
        gap=weighing.gap,
        inner=updates.inner(direction),
        rounding=rounding_of_products(direction, norm, norms, summed),
        stalled=is_no_direction(norm, summed),
        dropped=weighing.dropped,
    )


def _check(weighing: Weighing, cohort: Cohort) -> None:
    """Refuse what cannot be meant: a rule may be anybody's."""
    m = len(cohort.client_ids)
    for name in ("weights", "lam"):
        values = np.asarray(getattr(weighing, name))
        if values.shape != (m,):
            raise ValueError(
                f"A rule must give {m} {name}, one for each client, got {values.shape}."
            )
        if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise ValueError(f"The {name} of a rule must be finite numbers, got {values}.")
    if isinstance(weighing.gap, bool | str) or not float(weighing.gap) >= 0.0:
        raise ValueError(f"The gap of a rule must be zero or positive, got {weighing.gap!r}.")
    known = frozenset(cohort.client_ids)
    strangers = [client for client in weighing.dropped if client not in known]
    if strangers:
        raise ValueError(f"A rule dropped {strangers[0]!r}, which is not in the cohort.")
    direction: object = weighing.direction
    if direction is not None and not (
        isinstance(direction, np.ndarray) and direction.dtype.kind == "f"
    ):
        raise ValueError("The direction of a rule must be an array of floats.")
