"""The proximal average: what exact FedProx converges to, and that FedAvg goes elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.paper.theory._check import Check, Place, along, at_most, equal
from fedmgda.paper.theory._problems import Quadratics
from fedmgda.paper.theory._runs import federation_of, run
from fedmgda.rules import FedAvg

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import Matrix, Vector

__all__ = ["proximal_average"]

_CURVATURES = np.array([0.2, 0.5, 1.0, 2.0, 5.0])
_ETAS = (0.03, 0.1, 0.3, 1.0, 3.0)


def proximal_average(
    seed: int, *, eta: float = 1.0, believed: float | None = None
) -> tuple[Check, ...]:
    """Check the fixed points of exact FedProx and of FedAvg on f_i = (c_i/2) ‖w - a_i‖².

    Args:
        seed: Of the problem.
        eta: η = 1/μ of the proximal map.
        believed: The η that the formula is computed with; the true one if None.
    """
    anchors = generator(seed, Stream.SYNTHETIC, 5).normal(size=(5, 3))
    prox, one_step, to_the_end = _fedprox(anchors, eta), _fedavg(anchors, 1), _fedavg(anchors, 2000)
    formula = _fixed_point(anchors, eta if believed is None else believed)
    minimiser = _fixed_point(anchors, 0.0)
    return (
        at_most(
            _place("Exact FedProx ends at the minimiser of the proximal average.", f"η = {eta:g}"),
            _distance(prox, formula),
            1e-9,
        ),
        at_most(
            _place("FedAvg with k = 1 ends at the minimiser of the average (η = 0).", "k = 1"),
            _distance(one_step, minimiser),
            1e-9,
        ),
        at_most(
            _place("FedAvg with k = ∞ ends at the mean of the minimisers (η = ∞).", "k = 2000"),
            _distance(to_the_end, anchors.mean(axis=0)),
            1e-9,
        ),
        equal(
            _place("FedProx and FedAvg end apart, by what the formulas say.", f"η = {eta:g}"),
            _distance(prox, one_step),
            _distance(formula, minimiser),
        ),
        _small_eta(anchors, one_step),
    )


def _small_eta(anchors: Matrix, one_step: Vector) -> Check:
    """Check that the limits meet as η -> 0.

    The weights of the a_i differ from those at η = 0 by at most η c_max in sum, so the limits
    differ by at most half of that times the diameter of the a_i.
    """
    apart = [_distance(_fedprox(anchors, eta), one_step) for eta in _ETAS]
    diameter = max(_distance(a, b) for a in anchors for b in anchors)
    bound = 0.5 * np.array(_ETAS) * _CURVATURES.max() * diameter
    place = _place(
        "As η -> 0 FedProx's limit tends to FedAvg's, at rate η.",
        f"η in {_ETAS}",
        axes=("η", "distance of the limits"),
    )
    return along(place, _ETAS, apart, bound)


def _fixed_point(anchors: Matrix, eta: float) -> Vector:
    weights = _CURVATURES / (1.0 + eta * _CURVATURES)
    point: Vector = weights @ anchors / weights.sum()
    return point


def _fedprox(anchors: Matrix, eta: float) -> Vector:
    """Return where the engine ends if every user sends w - prox_{f_i}(w)."""
    shares = (eta * _CURVATURES / (1.0 + eta * _CURVATURES))[:, None]
    return _limit(anchors, lambda w, _: shares * (w - anchors), shares)


def _fedavg(anchors: Matrix, steps: int) -> Vector:
    """Return where the engine ends if every user takes `steps` exact gradient steps."""
    shares = (1.0 - (1.0 - 0.1 * _CURVATURES) ** steps)[:, None]
    return _limit(anchors, lambda w, _: shares * (w - anchors), shares)


def _limit(anchors: Matrix, update: Callable[[Vector, int], Matrix], shares: Matrix) -> Vector:
    hessians = _CURVATURES[:, None, None] * np.eye(anchors.shape[1])
    problem = Quadratics(anchors=anchors, hessians=hessians)
    federation = federation_of(problem, update=update, rule=FedAvg())
    # A round shrinks the distance by 1 - mean share: as many rounds as 1e-12 needs.
    rounds = int(np.ceil(np.log(1e-12) / np.log1p(-min(float(shares.mean()), 0.99))))
    return run(federation, np.full(anchors.shape[1], 2.0), rounds).params[-1]


def _distance(a: Vector, b: Vector) -> float:
    return float(np.linalg.norm(a - b))


def _place(claim: str, detail: str, axes: tuple[str, str] = ("round", "value")) -> Place:
    return Place(
        claim=claim,
        where="Section 3 (proximal average), SPEC P10",
        problem=f"5 quadratics of curvature 0.2 to 5 in R^3, {detail}",
        axes=axes,
    )
