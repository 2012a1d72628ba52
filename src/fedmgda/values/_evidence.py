"""What the numbers of a round can prove: where rounding ends, and where a direction does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedmgda._types import Vector

__all__ = ["NO_DIRECTION", "is_no_direction", "rounding_of_products"]

NO_DIRECTION = 2.0**-20
"""A sum no longer than this, beside the lengths of what was added, points nowhere."""

_UNIT = 2.0**-53  # the unit roundoff of float64, in which all sums are taken


def rounding_of_products(
    direction: Vector, norm: float, norms: Vector, summed: float = 0.0
) -> Vector:
    """Bound by how much rounding can have moved ⟨g_i, d⟩: 2 ‖g_i‖ ((v + n u) ‖d‖ + m u s + e).

    u is the unit roundoff of float64, v that of the numbers of d, n their number, m that of the
    updates, s = Σ |w_k| ‖g_k‖. The terms are, in this order: d is rounded entry by entry (v), the
    product is a sum of n terms (n u), each entry of d is a sum of m terms (m u s), and an entry may
    lie below the normal numbers of its format (e, √n times the smallest of them). 2 stands for the
    terms of higher order and for the rounding of the norms. A product below minus this bound is
    negative for the exact weighted sum as well as for the vector that is used.

    Args:
        direction: Of shape `(n,)`, d.
        norm: ‖d‖.
        norms: Of shape `(m,)`, ‖g_i‖.
        summed: s; 0 for a direction that is no sum.

    Returns:
        Of shape `(m,)`, finite, zero where an update or everything is zero.

    >>> bound = rounding_of_products(np.ones(4, np.float32), 2.0, np.array([1.0, 0.0]))
    >>> bound.tolist() == [2 * (2.0**-24 + 4 * 2.0**-53) * 2.0 + 4 * 2.0**-149, 0.0]
    True
    """
    numbers = np.finfo(direction.dtype)
    n, m = len(direction), len(norms)
    relative = float(numbers.eps) / 2 + n * _UNIT
    smallest = float(np.sqrt(n)) * float(numbers.smallest_subnormal)
    with np.errstate(over="ignore", invalid="ignore"):
        length = relative * norm + m * _UNIT * summed + smallest
        # Factor by factor: ‖g_i‖ ‖d‖ alone may be beyond float64.
        return np.nan_to_num(2.0 * length * norms, nan=0.0, posinf=np.finfo(np.float64).max)


def is_no_direction(norm: float, summed: float) -> bool:
    """Tell whether ‖Σ w_i g_i‖ <= 2^-20 Σ |w_i| ‖g_i‖: the updates cancel, what is left is noise.

    The right side is as long as the sum would be if all updates pointed the same way. For unit rows
    and a λ that sums to one it is 2^-20, that of the length of every row.

    Args:
        norm: ‖d‖.
        summed: Σ |w_i| ‖g_i‖.

    >>> is_no_direction(3e-8, 1.0), is_no_direction(1e-3, 1.0), is_no_direction(0.0, 0.0)
    (True, False, True)
    """
    return bool(norm <= NO_DIRECTION * summed)
