from __future__ import annotations

import numpy as np
import pytest

from fedmgda.minnorm import Status, _start, min_norm
from fedmgda.minnorm._gradient import projected_gradient
from fedmgda.minnorm._problem import GramProblem
from unit.minnorm._asserts import assert_feasible
from unit.minnorm._instances import FAMILIES

FAMILY = pytest.mark.parametrize("name", sorted(FAMILIES))
EPSILON = pytest.mark.parametrize("epsilon", [0.05, 1.0])


def crowd(m: int) -> np.ndarray:
    rows = np.random.default_rng(m).normal(size=(m, 2 * m)) + 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@FAMILY
@EPSILON
def test_the_guess_is_feasible_whatever_the_matrix(name: str, epsilon: float) -> None:
    rows = FAMILIES[name](np.random.default_rng(3), 25)
    with np.errstate(all="ignore"):
        lam = projected_gradient(GramProblem.of(rows @ rows.T, None, epsilon))
    assert_feasible(lam, None, epsilon)


@EPSILON
def test_among_many_like_users_the_guess_has_nearly_the_support_of_the_answer(
    epsilon: float,
) -> None:
    rows = crowd(200)
    guess = projected_gradient(GramProblem.of(rows @ rows.T, None, epsilon))
    answer = min_norm(rows @ rows.T, None, epsilon).lam
    assert 0 < np.count_nonzero(answer) < 150
    assert np.count_nonzero((guess > 0) != (answer > 0)) <= 5


@FAMILY
@EPSILON
def test_the_answer_does_not_depend_on_where_it_was_started(
    name: str, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = FAMILIES[name](np.random.default_rng(7), 30)
    gramian = rows @ rows.T
    expected = min_norm(gramian, None, epsilon)
    monkeypatch.setattr(_start, "MANY", 3)
    monkeypatch.setattr(_start, "TAME", np.inf)
    solution = min_norm(gramian, None, epsilon)
    top = float(np.diagonal(gramian).max())
    assert_feasible(solution.lam, None, epsilon)
    assert solution.gap <= 1e-10 * top
    bound = np.sqrt(expected.gap) + np.sqrt(solution.gap)
    distance = np.linalg.norm((solution.lam - expected.lam) @ rows)
    assert distance <= bound + 1e-7 * np.sqrt(top)


def test_many_users_need_no_interior_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(_: GramProblem) -> None:
        raise AssertionError("the interior point was asked")

    monkeypatch.setattr(_start, "_interior_point", unavailable)
    rows = crowd(_start.MANY)
    solution = min_norm(rows @ rows.T)
    assert solution.status is Status.OPTIMAL
    assert solution.proves_common_descent


def test_a_guess_that_cannot_be_repaired_in_time_falls_back_to_the_interior_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = crowd(40)
    expected = min_norm(rows @ rows.T)
    monkeypatch.setattr(_start, "MANY", 3)
    monkeypatch.setattr(_start, "_worthwhile_steps", lambda *_: 1)
    monkeypatch.setattr(_start, "projected_gradient", lambda _: np.eye(40)[0])
    solution = min_norm(rows @ rows.T)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_allclose(solution.lam, expected.lam, atol=1e-10)
