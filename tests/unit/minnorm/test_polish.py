from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedmgda.minnorm import _solve, min_norm
from fedmgda.minnorm._certificate import gap_of
from fedmgda.minnorm._polish import polish
from fedmgda.minnorm._problem import GramProblem
from unit.minnorm._asserts import box
from unit.minnorm._instances import FAMILIES, instances


def problem(name: str, m: int, epsilon: float) -> GramProblem:
    rows = FAMILIES[name](np.random.default_rng(m), m)
    return GramProblem.of(rows @ rows.T, None, epsilon)


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_active_set_alone_reaches_the_optimum_from_the_shortest_users(
    name: str, epsilon: float
) -> None:
    given = problem(name, 25, epsilon)
    lam = given.with_unit_sum(given.lower)
    lam, gap, _ = polish(given, lam, (given.lower < lam) & (lam < given.upper), 150)
    assert gap <= 1e-10
    assert abs(lam.sum() - 1.0) <= 1e-13


def test_the_result_is_never_worse_than_the_start() -> None:
    matrix = np.array([[1.0, 2.0, -3.0], [2.0, 1.0, 2.0], [-3.0, 2.0, 1.0]])  # no Gram matrix
    given = GramProblem.of(matrix, None, 1.0)
    start = np.array([0.5, 0.0, 0.5])
    before = gap_of(given.gramian @ start, start, given.lower, given.upper)
    for free in (np.zeros(3, dtype=bool), np.ones(3, dtype=bool)):
        lam, gap, _ = polish(given, start, free, 62)
        assert gap <= before
        assert gap == gap_of(given.gramian @ lam, lam, given.lower, given.upper)


def test_without_the_interior_point_the_answer_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = [min_norm(case.gramian, case.center, case.epsilon) for case in cases()]

    def only_the_second(given: GramProblem) -> Any:
        lam = given.with_unit_sum(given.lower)
        yield lam, (given.lower < lam) & (lam < given.upper), 4 * len(lam) + 50

    monkeypatch.setattr(_solve, "starts", only_the_second)
    for case, solution in zip(cases(), expected, strict=True):
        again = min_norm(case.gramian, case.center, case.epsilon)
        scale = np.linalg.norm(case.rows, axis=1).max()
        assert abs(again.norm - solution.norm) <= 1e-7 * scale


def cases() -> Any:
    return (case for case in instances(90, seed=5, largest=20) if case.epsilon > 0)


def test_the_missing_mass_goes_to_the_smallest_users_within_the_box() -> None:
    given = GramProblem.of(np.diag([4.0, 1.0, 9.0]), None, 0.1)
    lam = given.with_unit_sum(given.lower)
    lower, upper = box(None, 0.1, 3)
    np.testing.assert_allclose(lam, [1 / 3, upper[1], lower[2]], atol=1e-15)
