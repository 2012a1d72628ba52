"""What a check says: a claim, what was measured, what was promised, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedmgda._types import Vector

__all__ = ["BoundCurve", "Check", "Place", "along", "at_most", "equal"]


class BoundCurve(NamedTuple):
    """What was measured and what was promised along one axis, each of shape `(t,)`."""

    x: Vector
    measured: Vector
    bound: Vector


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a check is about.

    Attributes:
        claim: One sentence; it says what was corrected, or that it is the paper's wording.
        where: The statement in the paper and in the specification.
        problem: The functions and settings the claim was tried on.
        as_printed: Whether the claim is the paper's wording where we believe it to be wrong.
        axes: What is on the horizontal and on the vertical axis of its curve.
    """

    claim: str
    where: str
    problem: str
    as_printed: bool = False
    axes: tuple[str, str] = ("round", "value")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One claim of the paper, tried on a problem whose constants are known.

    Attributes:
        claim: What is claimed.
        where: Where it is claimed.
        problem: What it was tried on.
        measured: The measured value; of a curve, the one nearest to or farthest beyond its bound.
        bound: What the claim promises there.
        relation: "<=" or "==": how `measured` should relate to `bound`.
        holds: Whether it does, everywhere on the curve if there is one.
        curve: All values, or None for a single number.
        as_printed: Whether this is the paper's wording where we believe it to be wrong.
        axes: What is on the horizontal and on the vertical axis of the curve.
    """

    claim: str
    where: str
    problem: str
    measured: float
    bound: float
    relation: str
    holds: bool
    curve: BoundCurve | None = None
    as_printed: bool = False
    axes: tuple[str, str] = ("round", "value")


def at_most(place: Place, measured: float, bound: float) -> Check:
    """Check measured <= bound; NaN never holds."""
    return _check(place, measured, bound, "<=", holds=bool(measured <= bound))


def equal(place: Place, measured: float, bound: float, tol: float = 1e-9) -> Check:
    """Check measured == bound up to `tol` of the larger of 1 and the bound."""
    holds = bool(abs(measured - bound) <= tol * max(1.0, abs(bound)))
    return _check(place, measured, bound, "==", holds=holds)


def along(place: Place, x: ArrayLike, measured: ArrayLike, bound: ArrayLike) -> Check:
    """Check measured <= bound at every point of a curve, up to the rounding of a long sum.

    Args:
        place: What the check is about.
        x: Of shape `(t,)`.
        measured: Of shape `(t,)`.
        bound: Of shape `(t,)`.
    """
    curve = BoundCurve(*(np.asarray(part, dtype=np.float64) for part in (x, measured, bound)))
    slack = curve.measured - curve.bound * (1.0 + 1e-9) - 1e-12
    ratio = curve.measured / np.maximum(curve.bound, np.finfo(np.float64).tiny)
    worst = int(np.argmax(np.where(np.isnan(ratio), np.inf, ratio)))
    holds = bool((slack <= 0.0).all())
    pair = float(curve.measured[worst]), float(curve.bound[worst])
    return _check(place, *pair, "<=", holds=holds, curve=curve)


def _check(
    place: Place,
    measured: float,
    bound: float,
    relation: str,
    *,
    holds: bool,
    curve: BoundCurve | None = None,
) -> Check:
    return Check(
        claim=place.claim,
        where=place.where,
        problem=place.problem,
        measured=float(measured),
        bound=float(bound),
        relation=relation,
        holds=holds,
        curve=curve,
        as_printed=place.as_printed,
        axes=place.axes,
    )
