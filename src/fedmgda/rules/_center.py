"""λ0, and what else a user may ask of λ: preferences over the participants of a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from fedmgda._errors import SpecError
from fedmgda.rules._checks import check_name, nonnegative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda._types import Indices, Matrix, Vector
    from fedmgda.values import Cohort

__all__ = ["Center", "Constraint", "center_weights", "check_center", "constraint_rows"]

Center: TypeAlias = Literal["uniform", "examples"] | tuple[float, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """Σ coefficient_i λ_i <= at_most, over those of the named clients that take part in a round.

    Attributes:
        coefficients: Pairs of a client id and its coefficient.
        at_most: The bound.
    """

    coefficients: tuple[tuple[int, float], ...]
    at_most: float

    def __post_init__(self) -> None:
        numbers = [self.at_most, *(coefficient for _, coefficient in self.coefficients)]
        if not self.coefficients or not np.isfinite(numbers).all():
            raise ValueError(f"constraints must name clients and be finite, got {self}.")


def check_center(center: object) -> None:
    """Refuse what cannot be λ0: a misspelt name, or numbers that are not all positive."""
    if isinstance(center, str):
        check_name("center", center, Literal["uniform", "examples"])
    elif not isinstance(center, tuple):
        raise ValueError(  # noqa: TRY004 (every refusal of a rule is a ValueError)
            "center must be 'uniform', 'examples' or a tuple of positive numbers, one for each "
            f"client, got {center!r}."
        )
    elif not center or not all(0.0 < share < np.inf for share in center):
        raise ValueError(f"center must be positive numbers, one for each client, got {center}.")


def center_weights(center: Center, num_examples: Vector, client_ids: Sequence[int] = ()) -> Vector:
    """Return λ0 over the participants, of shape `(m,)`, summing to one.

    Args:
        center: "uniform", in proportion to the "examples", or a number for every client there is.
        num_examples: Of shape `(m,)`.
        client_ids: The participants, for numbers.

    >>> center_weights("examples", np.array([1.0, 3.0]))
    array([0.25, 0.75])
    >>> center_weights((5.0, 2.0, 6.0), np.ones(2), client_ids=(1, 2))
    array([0.25, 0.75])
    """
    check_center(center)
    if center == "uniform":
        return np.full(len(num_examples), 1.0 / max(len(num_examples), 1))
    if isinstance(center, tuple):
        strangers = [client for client in client_ids if not 0 <= client < len(center)]
        if strangers:
            raise SpecError(
                f"rule.center has {len(center)} numbers and none for client {strangers[0]}; give "
                "one for every client."
            )
        shares = np.array([center[client] for client in client_ids], dtype=np.float64)
        shares /= shares.max(initial=np.finfo(np.float64).tiny)
        return shares / shares.sum()
    counts = nonnegative("num_examples", num_examples)
    with np.errstate(over="ignore"):
        total = counts.sum()
    if len(counts) and not 0.0 < total < np.inf:
        raise ValueError(f"num_examples must have a positive, finite sum, got {total:g}.")
    return counts / total


def constraint_rows(
    constraints: Sequence[Constraint], cohort: Cohort, kept: Indices
) -> tuple[Matrix, Vector]:
    """Return A and c of A λ <= c for the kept participants of a round.

    Returns:
        Of shapes `(k, m)` and `(k,)`.

    Raises:
        SpecError: If nobody who could satisfy a constraint takes part.
    """
    ids = [cohort.client_ids[row] for row in kept]
    rows, bounds = np.zeros((len(constraints), len(ids))), np.zeros(len(constraints))
    for number, constraint in enumerate(constraints):
        shares = dict(constraint.coefficients)
        rows[number] = [shares.get(client, 0.0) for client in ids]
        bounds[number] = constraint.at_most
        # Over the simplex the left side is at least its smallest coefficient.
        if rows[number].min(initial=np.inf) > constraint.at_most:
            named, present = (", ".join(map(str, group)) for group in (shares, ids))
            raise SpecError(
                f"rule.constraints cannot hold in a round of the clients {present}: the one on "
                f"{named} needs others to take part; let all of them, with "
                "clients.participation = 1.0, or ask for less."
            )
    return rows, bounds
