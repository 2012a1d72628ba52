"""What one round promises its participants: common descent, and whom a box protects."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fedmgda._random import Stream, generator
from fedmgda.federation import Constant
from fedmgda.metrics import pareto_residual
from fedmgda.minnorm import project_onto_box
from fedmgda.paper.theory._check import Check, Place, along, at_most, equal
from fedmgda.paper.theory._problems import Quadratics
from fedmgda.paper.theory._runs import federation_of, run
from fedmgda.rules import FedAvg, FedMGDA
from fedmgda.values import Cohort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Matrix, Vector

__all__ = [
    "common_descent",
    "down_to_fedavg",
    "feasible_mixtures",
    "more_users_than_dimensions",
    "shorter_with_epsilon",
    "small_epsilon",
]

_TOLERANCE = 1e-9
_COUNT = 60
_FACES = 6  # of so many users every subset is tried


def common_descent(seed: int, *, epsilon: float = 1.0) -> tuple[Check, ...]:
    """Check ⟨g_i, d⟩ >= ‖d‖² for every participant, on raw and on normalised updates.

    Only cohorts are taken in which the mean opposes somebody, and a shortfall is measured by the
    length of that participant's own update, so that a short one cannot hide behind a long one.
    """
    checks = []
    for normalize, name in ((False, "raw"), (True, "normalised")):
        rule, mean = FedMGDA(epsilon=epsilon, normalize=normalize), FedAvg(normalize=normalize)
        cohorts = [
            updates for updates in _updates(seed) if mean.aggregate(_cohort(updates)).sacrificed
        ]
        worst = max(_shortfall(rule, updates) for updates in cohorts)
        place = Place(
            claim=f"No participant is sacrificed: ⟨g_i, d⟩ >= ‖d‖² for every i ({name} updates).",
            where="equation (fair), SPEC P1",
            problem=f"the {len(cohorts)} of {_COUNT} random cohorts of 2 to 20 users in which the "
            f"mean opposes somebody, ε = {epsilon:g}; largest shortfall over ‖g_i‖",
        )
        checks.append(at_most(place, worst, _TOLERANCE))
    return (*checks, _shortest_of_all(seed, epsilon))


def _shortfall(rule: FedMGDA, updates: Matrix) -> float:
    """Return the largest ‖d‖² - ⟨g_i, d⟩ over ‖g_i‖, in units of the shortest update."""
    lengths = np.linalg.norm(updates, axis=1)
    aggregate = rule.aggregate(_cohort(updates))
    inner = aggregate.inner / lengths if rule.normalize else aggregate.inner
    own, unit = (1.0, 1.0) if rule.normalize else (lengths, float(lengths.min()))
    return float(((aggregate.norm**2 - inner) / (own * unit)).max())


def _shortest_of_all(seed: int, epsilon: float) -> Check:
    """Check ‖d‖ against every face of the hull: no solver, one linear system for each subset."""
    worst = 0.0
    for updates in _updates(seed):
        rows = updates[:_FACES] / np.linalg.norm(updates[:_FACES], axis=1, keepdims=True)
        found = FedMGDA(epsilon=epsilon).aggregate(_cohort(rows)).norm
        worst = max(worst, abs(found - _min_norm_by_faces(rows)))
    place = Place(
        claim="‖d‖ is the shortest of all mixtures, found by trying every face of their hull.",
        where="equation (MGDA), SPEC 6",
        problem=f"{_COUNT} random cohorts of 2 to {_FACES} unit updates, ε = {epsilon:g}; largest "
        "difference",
    )
    return at_most(place, worst, 1e-7)


def _min_norm_by_faces(rows: Matrix) -> float:
    """Return the length of the min-norm point of a hull.

    It is the point of least norm in the plane through some of the rows, with weights that are not
    negative: K λ = ν 1 and 1ᵀ λ = 1 there.
    """
    gramian, best = rows @ rows.T, np.inf
    for size in range(1, len(rows) + 1):
        for face in map(list, combinations(range(len(rows)), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = gramian[np.ix_(face, face)], 0.0
            lam = np.linalg.lstsq(system, np.eye(size + 1)[size], rcond=None)[0][:size]
            if lam.min() >= -1e-9 and abs(lam.sum() - 1.0) <= 1e-9:
                best = min(best, float(np.linalg.norm(lam @ rows[face])))
    return best


def small_epsilon(*, epsilon: float = 0.1) -> tuple[Check, ...]:
    """Check common descent where the box excludes the mixture that would protect the third user."""
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [-0.9, np.sqrt(1.0 - 0.81)]])
    checks = []
    for width in (epsilon, 1.0 / 6.0):
        inner = FedMGDA(epsilon=width).aggregate(_cohort(rows)).inner
        enough = width >= 1.0 / 6.0 - 1e-12
        claim = (
            "At ε = 1/6 the box holds the mixture that protects the third user: nobody loses."
            if enough
            else 'As printed, "can only decrease" read for every ε: nobody\'s loss rises. '
            "For ε < 1 only mixtures inside the box are protected."
        )
        place = Place(
            claim=claim,
            where="Section 5 (fairness), SPEC P2",
            problem=f"users (1, 0) twice and (-0.9, 0.436), ε = {width:.3g}; largest -⟨g_i, d⟩",
            as_printed=not enough,
        )
        checks.append(at_most(place, float(-inner.min()), 0.0))
    return tuple(checks)


def feasible_mixtures(
    seed: int, *, epsilon: float = 0.1, tested: float | None = None
) -> tuple[Check, ...]:
    """Check that for ε < 1 every mixture of users inside the box keeps its descent.

    Args:
        seed: Of the cohorts and of the mixtures.
        epsilon: Of the rule.
        tested: The half-width of the box that mixtures are taken from; epsilon if None.
    """
    rng = generator(seed, Stream.SYNTHETIC, 4)
    width, worst = epsilon if tested is None else tested, -np.inf
    for updates in _updates(seed):
        m = len(updates)
        aggregate = FedMGDA(epsilon=epsilon, normalize=False).aggregate(_cohort(updates))
        lower, upper = np.maximum(1.0 / m - width, 0.0), np.minimum(1.0 / m + width, 1.0)
        for point in rng.normal(size=(40, m)):
            mixture = project_onto_box(point, np.full(m, lower), np.full(m, upper))
            short = aggregate.norm**2 - float(mixture @ aggregate.inner)
            worst = max(worst, short / float((updates**2).sum(axis=1).max()))
    place = Place(
        claim="For ε < 1 every mixture μ inside the box is protected: ⟨Σ μ_i g_i, d⟩ >= ‖d‖².",
        where="Section 5 (ε-constraint), SPEC P2",
        problem=f"{_COUNT} random cohorts, 40 mixtures each, ε = {epsilon:g}; largest shortfall",
    )
    return (at_most(place, worst, _TOLERANCE),)


def shorter_with_epsilon(seed: int) -> tuple[Check, ...]:
    """Check that ‖d‖ never grows with ε."""
    grid = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
    growth = -np.inf
    for updates in _updates(seed):
        cohort = _cohort(updates)
        found = [FedMGDA(epsilon=e, normalize=False).aggregate(cohort) for e in grid]
        norms = np.array([aggregate.norm for aggregate in found])
        growth = max(growth, float((np.diff(norms) / norms[0]).max()))
    place = Place(
        claim="‖d_ε‖ does not grow with ε: the boxes are nested.",
        where="Section 5 (ε-constraint), SPEC P5",
        problem=f"{_COUNT} random cohorts, ε from 0 to 1 in {len(grid)} steps; largest growth",
    )
    return (at_most(place, growth, _TOLERANCE),)


def down_to_fedavg(seed: int, *, to: float = 0.0) -> tuple[Check, ...]:
    """Check that the solver's own directions tend to FedAvg's with ε, without its code for ε = 0.

    No weight is farther than ε from λ_0, so no direction is farther than ε Σ ‖g_i‖ from the mean.

    Args:
        seed: Of the cohorts.
        to: Moves the mean by this share of Σ ‖g_i‖, to see that the check can fail.
    """
    grid = 10.0 ** np.arange(-9.0, 0.0)
    apart = np.zeros(len(grid))
    for updates in _updates(seed):
        total = float(np.linalg.norm(updates, axis=1).sum())
        mean = updates.mean(axis=0) + to * total / np.sqrt(updates.shape[1])
        for number, epsilon in enumerate(grid):
            rule = FedMGDA(epsilon=float(epsilon), normalize=False)
            away = np.linalg.norm(rule.aggregate(_cohort(updates)).direction - mean)
            apart[number] = max(apart[number], float(away) / total)
    place = Place(
        claim="As ε -> 0 the direction tends to FedAvg's: ‖d_ε - d_0‖ <= ε Σ ‖g_i‖.",
        where="Section 5 (ε-constraint), SPEC P5",
        problem=f"{_COUNT} random cohorts, ε from 1e-9 to 0.1, all solved; largest ‖d_ε - d_0‖ "
        "over Σ ‖g_i‖",
        axes=("ε", "‖d_ε - d_0‖ / Σ ‖g_i‖"),
    )
    return (along(place, grid, apart, grid + 1e-14),)


def more_users_than_dimensions() -> tuple[Check, ...]:
    """Check the remark that m > d makes every point Pareto stationary after one iteration."""
    problem = Quadratics(anchors=np.array([[-1.0], [-2.0], [-3.0]]), hessians=np.ones((3, 1, 1)))
    federation = federation_of(problem, schedule=Constant(server_lr=0.5))
    done = run(federation, np.zeros(1), 1)
    place = Place(
        claim="As printed: with more users than dimensions one iteration is Pareto stationary. "
        "Dependent gradients need not have 0 in their convex hull.",
        where="Section 5 (subsampling), SPEC 6 and 9.29",
        problem="3 quadratics on the line with minima at -1, -2, -3, one round from 0; ‖Jλ‖ after",
        as_printed=True,
    )
    return (equal(place, pareto_residual(problem.gradients(done.params[1])), 0.0),)


def _updates(seed: int) -> Iterator[Matrix]:
    """Yield cohorts of all shapes: few and many users, short and long updates, conflicts."""
    rng = generator(seed, Stream.SYNTHETIC, 3)
    for _ in range(_COUNT):
        m, d = int(rng.integers(2, 21)), int(rng.integers(2, 31))
        shift = rng.uniform(0.0, 1.5) * rng.normal(size=d)
        yield (rng.normal(size=(m, d)) + shift) * 10.0 ** rng.uniform(-1.0, 1.0, size=(m, 1))


def _cohort(updates: Matrix) -> Cohort:
    ones: Vector = np.ones(len(updates))
    return Cohort(
        client_ids=tuple(range(len(updates))), updates=updates, num_examples=ones, losses=ones
    )
