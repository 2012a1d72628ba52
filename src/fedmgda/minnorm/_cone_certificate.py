"""The proof that a step is the nearest one in a cone, from its multipliers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda.minnorm._problem import check_gramian, scale_exponent
from fedmgda.minnorm._real import as_real

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = ["ConeCertificate", "check_demand", "cone_certificate"]

LARGE = 2.0**1022  # the difference of two numbers up to this is finite


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ConeCertificate:
    """What multipliers v >= 0 prove of the step z' = z + Σ v_i u_i.

    With z* the nearest step and v* its multipliers: ‖z' - z*‖² <= gap + violation Σ v*_i.

    Attributes:
        gap: Σ v_i |⟨u_i, z'⟩ - bound|, a sum of terms >= 0: 0 if every multiplier belongs to a
            constraint that is tight.
        violation: By how much the worst ⟨u_i, z'⟩ falls short of the bound; 0 if none does.
    """

    gap: float
    violation: float


def cone_certificate(
    gramian: Matrix, inner: Vector, bound: float, multipliers: Vector
) -> ConeCertificate:
    """Return how far z' = z + Σ v_i u_i is from being the nearest step with ⟨u_i, z'⟩ >= bound.

    Args:
        gramian: Of shape `(m, m)`, K_ij = ⟨u_i, u_j⟩.
        inner: Of shape `(m,)`, ⟨u_i, z⟩.
        bound: What every ⟨u_i, z'⟩ shall reach, >= 0.
        multipliers: Of shape `(m,)`, v >= 0.

    Raises:
        ValueError: If an argument has the wrong shape, is not finite, or is negative where it must
            not be.

    >>> cone_certificate(np.eye(2), np.array([-1.0, 2.0]), 0.5, np.array([1.5, 0.0]))
    ConeCertificate(gap=0.0, violation=0.0)
    >>> cone_certificate(np.eye(2), np.array([-1.0, 2.0]), 0.5, np.array([1.0, 0.0]))
    ConeCertificate(gap=0.5, violation=0.5)
    """
    matrix = check_gramian(gramian)
    demand, shift = check_demand(inner, bound, len(matrix))
    v = as_real(multipliers, "multipliers")
    if v.shape != (len(matrix),) or not (np.isfinite(v).all() and (v >= 0.0).all()):
        raise ValueError(f"multipliers must be {len(matrix)} finite numbers >= 0, got {v}.")
    exponent, size = scale_exponent(matrix), int(np.frexp(v.max())[1])
    with np.errstate(all="ignore"):
        matrix, v = np.ldexp(matrix, -exponent), np.ldexp(v, -size)
        raised = 0.5 * (matrix @ v + v @ matrix)  # only the symmetric part of K matters
        slack = np.ldexp(raised, exponent + size - shift) - demand
        missed = np.abs(slack)
        top = int(np.frexp(missed.max())[1])
        return ConeCertificate(
            gap=float(np.ldexp(v @ np.ldexp(missed, -top), size + top + shift)),
            violation=float(np.ldexp(max(0.0, -float(slack.min())), shift)),
        )


def check_demand(inner: Vector, bound: float, num_clients: int) -> tuple[Vector, int]:
    """Return (bound - ⟨u_i, z⟩) / 2^e, of shape `(m,)`, and e: 0 unless that would overflow."""
    products = as_real(inner, "inner")
    if products.shape != (num_clients,):
        raise ValueError(f"inner must have shape ({num_clients},), got {products.shape}.")
    if not np.isfinite(products).all():
        row = int(np.argmin(np.isfinite(products)))
        raise ValueError(f"inner must be finite, got {products[row]} in row {row}: drop that user.")
    if not 0.0 <= bound < np.inf:
        raise ValueError(f"bound must be finite and >= 0, got {bound}.")
    if bound <= LARGE and np.abs(products).max() <= LARGE:
        return float(bound) - products, 0
    return 0.5 * float(bound) - 0.5 * products, 1
