"""The methods behind the cone problem, each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, strategies as st

from fedmgda.minnorm._cone_problem import ConeProblem
from fedmgda.minnorm._pivot import block_pivot, descend
from fedmgda.minnorm._shortest import shortest
from unit.minnorm._cones import cones

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda._types import Vector

SEEDS = st.integers(0, 2**32)


def problems(count: int, seed: int) -> Iterator[tuple[str, ConeProblem]]:
    """Yield problems in which some user is violated."""
    for case in cones(count, seed, largest=30):
        problem = ConeProblem.of(case.gramian, case.inner, case.bound)
        if (problem.demand > 0.0).any():
            yield case.name, problem


def is_optimal(problem: ConeProblem, y: Vector) -> bool:
    error = problem.error(y, problem.slack(y))
    return error <= 1e-12 * (1.0 + float(y.sum())) ** 2


def test_a_descent_from_any_support_ends_at_the_same_step() -> None:
    for number, (name, problem) in enumerate(problems(180, seed=21)):
        rng = np.random.default_rng(number)
        k = len(problem.demand)
        first, _ = descend(problem, np.zeros(k), np.zeros(k, dtype=bool), 10 * k + 50)
        tight = rng.random(k) < 0.5
        start = np.where(tight, rng.random(k), 0.0)
        second, _ = descend(problem, start, tight, 10 * k + 50)
        assert is_optimal(problem, first), name
        assert is_optimal(problem, second), name
        move = (first - second) @ problem.cosines @ (first - second)
        assert move <= 1e-12 * (1.0 + float(first.sum())) ** 2, name


def test_few_exchanges_suffice_where_rows_are_independent() -> None:
    for name, problem in problems(360, seed=22):
        if name in ("common", "unit", "ratio 1e4", "ratio 1e25"):
            y, steps = block_pivot(problem, 20)
            assert steps < 20
            assert is_optimal(problem, y), name


@given(SEEDS, st.integers(1, 3))
def test_an_exchange_that_is_cut_short_still_returns_multipliers(seed: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, 4))
    problem = ConeProblem.of(rows @ rows.T, rows @ rng.normal(size=4), 0.0)
    y, steps = block_pivot(problem, limit)
    assert (y >= 0.0).all()
    assert 1 <= steps <= limit


def test_no_optimal_multipliers_are_shorter_than_the_shortest() -> None:
    compared = 0
    for number, (name, problem) in enumerate(problems(360, seed=23)):
        rng = np.random.default_rng(number)
        k = len(problem.demand)
        first, _ = descend(problem, np.zeros(k), np.zeros(k, dtype=bool), 10 * k + 50)
        tight = rng.random(k) < 0.7
        second, _ = descend(problem, np.where(tight, rng.random(k), 0.0), tight, 10 * k + 50)
        best = shortest(problem, first)
        assert is_optimal(problem, best), name
        assert np.linalg.norm(best) <= (1 + 1e-12) * np.linalg.norm(first), name
        if first.sum() <= 100.0 and np.abs(first - second).max() > 1e-3:
            compared += 1
            assert np.linalg.norm(best) <= (1 + 1e-7) * np.linalg.norm(second), name
    assert compared >= 10
