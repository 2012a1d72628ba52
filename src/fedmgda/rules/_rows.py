"""The rows a rule combines: the updates, scaled to unit length or not, without the zero ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from fedmgda._errors import ZeroUpdateError
from fedmgda._types import Aggregate
from fedmgda.minnorm import float64_blocks

if TYPE_CHECKING:
    from fedmgda._types import Cohort, Indices, Matrix, Vector

__all__ = ["FLOOR", "Rows", "ZeroUpdate", "combine", "raw_rows", "row_norms", "unit_rows"]

ZeroUpdate: TypeAlias = Literal["drop", "stall", "error"]

FLOOR = 1e-12
"""An update no longer than this is a client at rest: there is no direction in it to normalise."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Row i is `scales[i] * updates[i]` for the kept clients.

    Attributes:
        cohort: The cohort the rows were made of.
        kept: Of shape `(k,)`: which of the m clients take part, in order.
        scales: Of shape `(k,)`: 1, or 1 / ‖g_i‖ where rows are normalised.
        stalled: Whether a zero update is to stop the server (the policy `stall`).
    """

    cohort: Cohort
    kept: Indices
    scales: Vector
    stalled: bool = False


def row_norms(updates: Matrix) -> Vector:
    """Return ‖g_i‖ in float64, of shape `(m,)`, also where ‖g_i‖² is beyond float64."""
    squares = np.zeros(len(updates))
    with np.errstate(over="ignore"):
        for _, block in float64_blocks(updates):
            squares += np.vecdot(block, block)
        norms = np.sqrt(squares)
        for row in np.flatnonzero(np.isinf(norms)):
            shrunk, exponent = _shrunk(updates[row])
            norms[row] = np.ldexp(np.linalg.norm(shrunk), exponent)
    return norms


def raw_rows(cohort: Cohort) -> Rows:
    """Take the updates as they are, zero ones included."""
    m = len(cohort.client_ids)
    return Rows(cohort=cohort, kept=np.arange(m), scales=np.ones(m))


def unit_rows(
    cohort: Cohort,
    norms: Vector | None = None,
    *,
    normalize: bool = True,
    zero_update: ZeroUpdate = "drop",
) -> Rows:
    """Normalise the updates and apply the policy for those too short to have a direction.

    Norms that are known already, of shape `(m,)`, need not be measured again.
    """
    norms = row_norms(cohort.updates) if norms is None else norms
    if not np.isfinite(norms).all():
        row = int(np.argmin(np.isfinite(norms)))
        raise ValueError(
            f"The update of client {cohort.client_ids[row]} has norm {norms[row]:g}, "
            "which must be finite: drop that client."
        )
    at_rest = norms <= FLOOR
    if at_rest.any() and zero_update == "error":
        clients = ", ".join(str(cohort.client_ids[i]) for i in np.flatnonzero(at_rest))
        raise ZeroUpdateError(
            f"The update of client {clients} is zero and rule.zero_update is 'error'; "
            "use 'drop' to leave such clients out of the round or 'stall' to keep the model."
        )
    stalled = bool(at_rest.any()) and zero_update == "stall"
    kept = np.flatnonzero(at_rest if stalled else ~at_rest)
    ones = np.ones(len(kept))
    return Rows(
        cohort=cohort,
        kept=kept,
        scales=ones if stalled or not normalize else 1.0 / norms[kept],
        stalled=stalled,
    )


def combine(rows: Rows, lam: Vector, gap: float = 0.0) -> Aggregate:
    """Form d = Σ λ_i row_i and measure what it does to every client of the cohort.

    Sums are in float64; the direction has the dtype of the updates, float64 if that is not a float,
    and ‖d‖ and ⟨g_i, d⟩ are taken of that very vector, so that they speak of the step the server
    really makes. Where ⟨g_i, d⟩ is beyond float64 it is infinite, of the right sign.
    """
    cohort, updates = rows.cohort, rows.cohort.updates
    m, d = updates.shape
    weights, full_lam = np.zeros(m), np.zeros(m)
    weights[rows.kept] = 0.0 if rows.stalled else lam * rows.scales
    full_lam[rows.kept] = lam
    dtype = updates.dtype if np.issubdtype(updates.dtype, np.floating) else np.float64
    direction, inner, square = np.empty(d, dtype=dtype), np.zeros(m), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for columns, block in float64_blocks(updates):
            direction[columns] = weights @ block
            step = direction[columns].astype(np.float64)
            inner += block @ step
            square += float(step @ step)
        for row in np.flatnonzero(~np.isfinite(inner)):  # a term overflowed, the sum may not
            (update, up), (whole, down) = _shrunk(updates[row]), _shrunk(direction)
            inner[row] = np.ldexp(update @ whole, up + down)
    dropped = [] if rows.stalled else np.setdiff1d(np.arange(m), rows.kept).tolist()
    return Aggregate(
        client_ids=cohort.client_ids,
        direction=direction,
        lam=full_lam,
        norm=float(np.sqrt(square) if np.isfinite(square) else row_norms(direction[None])[0]),
        gap=gap,
        inner=inner,
        dropped=tuple(cohort.client_ids[i] for i in dropped),
    )


def _shrunk(vector: Vector) -> tuple[Vector, int]:
    """Return a vector over a power of two such that no entry exceeds 1, and the exponent."""
    exponent = int(np.frexp(np.abs(vector).max(initial=0.0))[1])
    return np.ldexp(vector.astype(np.float64), -exponent), exponent
