"""Users whose losses, gradients and constants are known in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from fedmgda._random import Stream, generator

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

__all__ = [
    "Quadratics",
    "UserLosses",
    "Wells",
    "anisotropic",
    "isotropic",
    "quadratics",
    "wells",
]


class UserLosses(Protocol):
    """The losses of n users on R^d."""

    @property
    def num_users(self) -> int:
        """The number of users, n."""

    @property
    def smoothness(self) -> float:
        """L: no gradient changes faster than this."""

    def losses(self, params: Vector) -> Vector:
        """Return f_1(w), ..., f_n(w), of shape `(n,)`."""

    def gradients(self, params: Vector) -> Matrix:
        """Return the gradients as rows, of shape `(n, d)`, at one w or at one w per user."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Quadratics:
    """f_i(w) = ½ (w - a_i)ᵀ H_i (w - a_i).

    Attributes:
        anchors: Of shape `(n, d)`: row i is a_i.
        hessians: Of shape `(n, d, d)`: symmetric, positive definite.
    """

    anchors: Matrix
    hessians: Matrix

    @property
    def num_users(self) -> int:
        """The number of users."""
        return len(self.anchors)

    @property
    def smoothness(self) -> float:
        """The largest eigenvalue of all Hessians."""
        return float(np.linalg.eigvalsh(self.hessians).max())

    def losses(self, params: Vector) -> Vector:
        """Return the losses at w."""
        values: Vector = 0.5 * np.einsum("nd,nd->n", params - self.anchors, self.gradients(params))
        return np.maximum(values, 0.0)

    def gradients(self, params: Vector) -> Matrix:
        """Return the gradients at w."""
        rows: Matrix = np.einsum("nde,ne->nd", self.hessians, params - self.anchors)
        return rows


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Wells:
    """f_i(w) = 1 - exp(-‖w - a_i‖² / 2): bounded, not convex, and both constants hold everywhere.

    The gradient is r exp(-r²/2) long at distance r, at most M = exp(-1/2), reached at r = 1. The
    Hessian has its largest eigenvalue in the middle, L = 1; the most negative one, -2 exp(-3/2),
    is smaller in size.

    Attributes:
        anchors: Of shape `(n, d)`: row i is a_i.
    """

    anchors: Matrix

    @property
    def num_users(self) -> int:
        """The number of users."""
        return len(self.anchors)

    @property
    def smoothness(self) -> float:
        """L = 1."""
        return 1.0

    @property
    def lipschitz(self) -> float:
        """M = exp(-1/2)."""
        return float(np.exp(-0.5))

    def losses(self, params: Vector) -> Vector:
        """Return the losses at w."""
        values: Vector = -np.expm1(-0.5 * ((params - self.anchors) ** 2).sum(axis=1))
        return values

    def gradients(self, params: Vector) -> Matrix:
        """Return the gradients at w."""
        rows: Matrix = (1.0 - self.losses(params))[:, None] * (params - self.anchors)
        return rows


def quadratics(seed: int, n: int, d: int, *, scale: float = 1.0) -> Quadratics:
    """Draw users with different, badly conditioned quadratics: eigenvalues from 0.05 to 1."""
    rng = generator(seed, Stream.SYNTHETIC, n, d)
    turns = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    eigenvalues = rng.uniform(0.05, 1.0, size=(n, d))
    eigenvalues[:, 0] = 1.0
    return _turned(turns, eigenvalues, scale * rng.normal(size=(n, d)))


def anisotropic(seed: int, n: int, d: int, convexity: float) -> Quadratics:
    """Draw users with Hessians of eigenvalues from `convexity` to 1, both of them taken.

    The points where a mixture of such gradients vanishes lie on a curved set.
    """
    rng = generator(seed, Stream.SYNTHETIC, n, d, 6)
    turns = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    eigenvalues = rng.uniform(convexity, 1.0, size=(n, d))
    eigenvalues[:, 0], eigenvalues[:, 1] = 1.0, convexity
    return _turned(turns, eigenvalues, rng.normal(size=(n, d)))


def _turned(turns: Matrix, eigenvalues: Matrix, anchors: Matrix) -> Quadratics:
    """Return quadratics whose axes are the columns of `turns`, of shape `(n, d, d)`."""
    hessians = np.einsum("nij,nj,nkj->nik", turns, eigenvalues, turns)
    return Quadratics(anchors=anchors, hessians=hessians)


def wells(seed: int, n: int, d: int) -> Wells:
    """Draw users whose wells overlap."""
    rng = generator(seed, Stream.SYNTHETIC, n, d, 1)
    return Wells(anchors=rng.normal(size=(n, d)) / np.sqrt(d))


def isotropic(seed: int, n: int, d: int, curvature: float) -> Quadratics:
    """Draw users with f_i = (c/2) ‖w - a_i‖²: their Pareto set is the convex hull of the a_i."""
    rng = generator(seed, Stream.SYNTHETIC, n, d, 2)
    hessians = np.broadcast_to(curvature * np.eye(d), (n, d, d))
    return Quadratics(anchors=0.5 * rng.normal(size=(n, d)), hessians=hessians)
