"""The rows a rule weighs: the updates, scaled to unit length or not, without the zero ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from fedmgda._errors import ZeroUpdateError
from fedmgda.rules._center import center_weights
from fedmgda.values import Weighing

if TYPE_CHECKING:
    from fedmgda._types import Indices, Vector
    from fedmgda.rules._center import Center
    from fedmgda.values import Cohort

__all__ = ["FLOOR", "Rows", "ZeroUpdate", "raw_rows", "unit_rows"]

ZeroUpdate: TypeAlias = Literal["drop", "stall", "error"]

FLOOR = 1e-12
"""An update no longer than this is a client at rest: there is no direction in it to normalise."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Row i is `scales[i]` times the update of client `kept[i]`.

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

    def center(self, center: Center) -> Vector:
        """Return λ0 over the kept clients, of shape `(k,)`."""
        ids = [self.cohort.client_ids[row] for row in self.kept]
        return center_weights(center, self.cohort.num_examples[self.kept], ids)

    def weighing(self, lam: Vector, gap: float = 0.0) -> Weighing:
        """Give the rows their weights λ, of shape `(k,)`; who is not among them has none."""
        ids = self.cohort.client_ids
        weights, full_lam = np.zeros(len(ids)), np.zeros(len(ids))
        weights[self.kept] = 0.0 if self.stalled else lam * self.scales
        full_lam[self.kept] = lam
        left_out = [] if self.stalled else np.setdiff1d(np.arange(len(ids)), self.kept).tolist()
        dropped = tuple(ids[row] for row in left_out)
        return Weighing(weights=weights, lam=full_lam, gap=gap, dropped=dropped)


def raw_rows(cohort: Cohort) -> Rows:
    """Take the updates as they are, zero ones included."""
    m = len(cohort.client_ids)
    return Rows(cohort=cohort, kept=np.arange(m), scales=np.ones(m))


def unit_rows(
    cohort: Cohort, norms: Vector, *, normalize: bool = True, zero_update: ZeroUpdate = "drop"
) -> Rows:
    """Normalise the updates and apply the policy for those too short to have a direction.

    Args:
        cohort: The cohort.
        norms: Of shape `(m,)`: ‖g_i‖.
        normalize: Whether rows are divided by their norms at all.
        zero_update: The policy.
    """
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
