"""The proximal average, its formula evaluated: what exact FedProx minimises, and what FedAvg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.paper.theory._check import Check, Place, along, at_most
from fedmgda.paper.theory._problems import anisotropic
from fedmgda.paper.theory._runs import federation_of, run
from fedmgda.rules import FedAvg

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedmgda._types import Matrix, Vector
    from fedmgda.paper.theory._problems import Quadratics

__all__ = ["proximal_average"]

_CONVEXITY = 0.2
_ETAS = (0.1, 0.3, 1.0, 3.0)
_EXACT = 1e-9
_WIDTH = 1e-2  # of differences, which are exact for quadratics


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Average:
    """Formula (pa), evaluated: a quadratic problem with a constraint, solved as it stands.

    Attributes:
        problem: The users, all of the same weight.
        inverse: 1/η; 0 is the limit η = ∞.
    """

    problem: Quadratics
    inverse: float

    def __call__(self, point: Vector) -> float:
        """Return min Σ λ_i [f_i(w_i) + ‖w_i‖²/2η] - ‖w‖²/2η over w_i with Σ λ_i w_i = w."""
        n, d = self.problem.anchors.shape
        size, lam = n * d, 1.0 / n
        system, right = np.zeros((size + d, size + d)), np.zeros(size + d)
        for i, (hessian, anchor) in enumerate(
            zip(self.problem.hessians, self.problem.anchors, strict=True)
        ):
            own = slice(i * d, (i + 1) * d)
            system[own, own] = lam * (hessian + self.inverse * np.eye(d))
            system[own, size:] = system[size:, own] = lam * np.eye(d)
            right[own] = lam * hessian @ anchor
        right[size:] = point
        parts = np.linalg.solve(system, right)[:size].reshape(n, d)
        losses = [self.problem.losses(part)[i] for i, part in enumerate(parts)]
        squares = (parts**2).sum(axis=1)
        value = np.mean(losses) + 0.5 * self.inverse * (squares.mean() - float(point @ point))
        return float(value)


def proximal_average(
    seed: int, *, eta: float = 1.0, believed: float | None = None
) -> tuple[Check, ...]:
    """Check what is said of the proximal average against its formula, on anisotropic quadratics.

    Nothing about the users but gradients is used where they work: a proximal map is reached by
    local gradient steps.

    Args:
        seed: Of the problem.
        eta: η = 1/μ of the proximal map.
        believed: The η that the formula is evaluated with; the true one if None.
    """
    problem = anisotropic(seed, 4, 3, _CONVEXITY)
    average = _Average(problem=problem, inverse=1.0 / (eta if believed is None else believed))
    prox = _limit(problem, _prox_of(problem, eta))
    whole = _limit(problem, _local_steps_of(problem, 200))
    return (
        _map_check(problem, average, eta),
        at_most(
            _place("Exact FedProx ends where formula (pa) is smallest.", f"η = {eta:g}; its slope"),
            _slope(average, prox),
            _EXACT,
        ),
        at_most(
            _place("FedAvg with k = ∞ ends where (pa) is smallest at η = ∞.", "k = 200; its slope"),
            _slope(_Average(problem=problem, inverse=0.0), whole),
            _EXACT,
        ),
        at_most(
            _place("FedAvg with k = ∞ ends at the mean of the minimisers.", "k = 200; distance"),
            _length(whole - problem.anchors.mean(axis=0)),
            _EXACT,
        ),
        _small_eta(seed, problem),
        _limits_meet(problem),
    )


def _map_check(problem: Quadratics, average: _Average, eta: float) -> Check:
    """Check the definition: the mean of the proximal maps is the proximal map of (pa)."""
    largest = 0.0
    for start in generator(0, Stream.SYNTHETIC, 8).normal(size=(10, 3)):
        point = _prox_of(problem, eta)(start).mean(axis=0)
        slope = _gradient(average, point) + (point - start) / eta
        largest = max(largest, _length(slope))
    place = _place(
        "The mean of the proximal maps is the proximal map of formula (pa).",
        f"η = {eta:g}, 10 points; largest slope of (pa) + ‖x - w‖²/2η where the mean of maps is",
    )
    return at_most(place, largest, _EXACT)


def _small_eta(seed: int, problem: Quadratics) -> Check:
    """Check that (pa) tends to the average of the losses from below as η -> 0.

    f_i(w_i) >= f_i(w) + ⟨∇f_i(w), w_i - w⟩, and Σ λ_i ‖w_i‖² - ‖w‖² = Σ λ_i ‖w_i - w‖²: the
    minimum of what is left is Σ λ_i f_i(w) - η/2 Σ λ_i ‖∇f_i(w)‖² or more.
    """
    points = generator(seed, Stream.SYNTHETIC, 9).normal(size=(10, 3))
    shares = []
    for eta in _ETAS:
        average = _Average(problem=problem, inverse=1.0 / eta)
        below = [problem.losses(w).mean() - average(w) for w in points]
        room = [(problem.gradients(w) ** 2).sum(axis=1).mean() for w in points]
        ratios = np.array(below) / np.array(room)
        shares.append(float(ratios.max()) if ratios.min() >= -_EXACT else np.inf)
    place = _place(
        "Formula (pa) is below the average of the losses, by η/2 Σ λ_i ‖∇f_i‖² at most: FedAvg "
        "with k = 1 minimises its limit η = 0.",
        f"η in {_ETAS}, 10 points; largest distance over Σ λ_i ‖∇f_i‖²",
        axes=("η", "distance / Σ λ_i ‖∇f_i‖²"),
    )
    return along(place, _ETAS, shares, 0.5 * np.array(_ETAS))


def _limits_meet(problem: Quadratics) -> Check:
    """Check that FedProx's limit tends to FedAvg's as η -> 0.

    Where the proximal maps leave w in the mean, Σ λ_i ∇f_i(prox_i(w)) = 0, and prox_i(w) is
    η ‖∇f_i(w)‖ from w at most. So the slope of the average is at most L η Σ λ_i ‖∇f_i(w)‖ there,
    and its minimiser that over the least eigenvalue away.
    """
    one_step = _limit(problem, _local_steps_of(problem, 1))
    apart, bound = [], []
    for eta in _ETAS:
        end = _limit(problem, _prox_of(problem, eta))
        slopes = np.linalg.norm(problem.gradients(end), axis=1).mean()
        apart.append(_length(end - one_step))
        bound.append(problem.smoothness * eta * float(slopes) / _CONVEXITY)
    place = _place(
        "As η -> 0 FedProx's limit tends to that of FedAvg with k = 1, at rate η; they are apart.",
        f"η in {_ETAS}",
        axes=("η", "distance of the limits"),
    )
    return along(place, _ETAS, apart, bound)


def _prox_of(problem: Quadratics, eta: float) -> Callable[[Vector], Matrix]:
    """Return the map from w to all prox_{f_i}(w), of shape `(n, d)`, by local gradient steps."""
    curvature = problem.smoothness + 1.0 / eta
    shrinks = 1.0 - (_CONVEXITY + 1.0 / eta) / curvature
    count = int(np.ceil(np.log(1e-16) / np.log(shrinks)))

    def steps(params: Vector) -> Matrix:
        points = np.tile(params, (problem.num_users, 1))
        for _ in range(count):
            slope = problem.gradients(points) + (points - params) / eta
            points = points - slope / curvature
        return points

    return steps


def _local_steps_of(problem: Quadratics, count: int) -> Callable[[Vector], Matrix]:
    """Return the map from w to where `count` local gradient steps of all users end."""

    def steps(params: Vector) -> Matrix:
        points = np.tile(params, (problem.num_users, 1))
        for _ in range(count):
            points = points - problem.gradients(points)
        return points

    return steps


def _limit(problem: Quadratics, local: Callable[[Vector], Matrix]) -> Vector:
    """Return where the engine ends with FedAvg at the server and some work at the users."""
    federation = federation_of(problem, update=lambda w, _: w - local(w), rule=FedAvg())
    point, moved = np.full(problem.anchors.shape[1], 2.0), np.inf
    while moved > 1e-13:
        done = run(federation, point, 20)
        moved, point = _length(done.params[-1] - done.params[-2]), done.params[-1]
    return point


def _gradient(function: Callable[[Vector], float], point: Vector) -> Vector:
    steps = _WIDTH * np.eye(len(point))
    rises = [function(point + step) - function(point - step) for step in steps]
    return np.array(rises) / (2.0 * _WIDTH)


def _slope(function: Callable[[Vector], float], point: Vector) -> float:
    return _length(_gradient(function, point))


def _length(vector: Vector) -> float:
    return float(np.linalg.norm(vector))


def _place(claim: str, detail: str, axes: tuple[str, str] = ("round", "value")) -> Place:
    return Place(
        claim=claim,
        where="Section 3 (proximal average), SPEC P10",
        problem=f"4 users in R^3, Hessians with eigenvalues {_CONVEXITY:g} to 1, {detail}",
        axes=axes,
    )
