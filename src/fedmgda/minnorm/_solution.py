"""What a min-norm solver returns: the weights and their certificate."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from fedmgda._types import Vector

__all__ = ["MinNormSolution", "Status"]


@final
class Status(StrEnum):
    """How the weights were found and what the certificate says of them.

    Attributes:
        CLOSED_FORM: No iteration was needed: m <= 2, epsilon = 0, or every weight is optimal.
        OPTIMAL: The certified gap is at most 1e-10 times the largest diagonal entry.
        INACCURATE: The best weights found; the gap still bounds how far they are from optimal.
    """

    CLOSED_FORM = "closed-form"
    OPTIMAL = "optimal"
    INACCURATE = "inaccurate"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MinNormSolution:
    """The weights λ of the min-norm direction d = Σ λ_i g_i, and the proof that they are right.

    Attributes:
        lam: Of shape `(m,)`, λ: feasible, and nearest the center where λ is not unique.
        norm: ‖d‖.
        gap: The duality gap: ½‖d‖² exceeds its minimum by at most this, and d is at most √gap away
            from the exact direction.
        iterations: Steps of the active-set method; 0 for a closed form.
        status: How λ was found.
        proves_common_descent: Whether ⟨g_i, d⟩ > 0 is proved for all i: the feasible set is the
            whole simplex and gap < ‖d‖², by more than rounding can account for.
    """

    lam: Vector
    norm: float
    gap: float
    iterations: int
    status: Status
    proves_common_descent: bool
