"""The solver on generated instances of every degeneracy: what is promised of it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedmgda.minnorm import MinNormSolution, Status, duality_gap, min_norm
from unit.minnorm._asserts import assert_feasible, box, linear_minimum
from unit.minnorm._instances import WILD, Instance, instances
from unit.minnorm._oracles import bounded_direction, enumerated_direction, nnls_direction

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector


def assert_certified(case: Instance, solution: MinNormSolution) -> float:
    """Check what is promised of every instance, and return the relative gap."""
    gramian, lam = case.gramian, solution.lam
    top = float(np.diagonal(gramian).max())
    assert_feasible(lam, case.center, case.epsilon)
    assert solution.status in (Status.CLOSED_FORM, Status.OPTIMAL)
    assert 0.0 <= solution.gap <= 1e-10 * top
    slope = gramian @ lam
    plain_gap = lam @ slope - linear_minimum(slope, *box(case.center, case.epsilon, len(lam)))
    assert abs(plain_gap - solution.gap) <= 1e-12 * top
    assert abs(duality_gap(gramian, lam, case.center, case.epsilon) - solution.gap) <= 1e-14 * top
    norm = np.linalg.norm(lam @ case.rows)
    assert abs(solution.norm - norm) <= 1e-7 * np.sqrt(top)
    return solution.gap / top if top else 0.0


def smallest_slope(gramian: Matrix, lam: Vector) -> Fraction:
    """Return min_i (Kλ)_i in rational arithmetic."""
    exact = [Fraction(float(value)) for value in lam]
    return min(
        sum((Fraction(float(k)) * x for k, x in zip(row, exact, strict=True)), Fraction(0))
        for row in gramian
    )


def assert_proves_common_descent(case: Instance, solution: MinNormSolution) -> None:
    """Check the gap against ‖d‖², and that the claim is made exactly when it is proved."""
    simplex = case.epsilon == 1.0 or len(solution.lam) == 1
    squared = solution.norm**2
    if squared > 1e-8 * np.diagonal(case.gramian).max() and case.name not in WILD:
        assert solution.gap <= 1e-6 * squared
        assert solution.proves_common_descent or not simplex
    if solution.proves_common_descent:
        assert (case.gramian @ solution.lam > 0.0).all()
        assert len(solution.lam) > 12 or smallest_slope(case.gramian, solution.lam) > 0


def assert_second_method_agrees(case: Instance, solution: MinNormSolution) -> bool:
    """Compare the direction with another method where it is well defined; say if it was."""
    top = float(np.diagonal(case.gramian).max())
    if case.name in WILD or case.epsilon == 0.0 or solution.norm**2 <= 1e-8 * top:
        return False
    rows = case.rows / np.sqrt(top)
    lower, upper = box(case.center, case.epsilon, len(rows))
    if case.epsilon == 1.0:
        other: Vector | None = nnls_direction(rows)
    elif len(rows) <= 5:
        other = enumerated_direction(rows, lower, upper)
    else:
        other = bounded_direction(rows, lower, upper)
    if other is None:
        return False
    difference = np.linalg.norm(solution.lam @ rows - other)
    assert difference <= 1e-7 * np.linalg.norm(other)
    return True


def check(count: int, seed: int, largest: int, compare_up_to: int) -> tuple[float, int]:
    """Check `count` instances; return the worst relative gap and how many were compared."""
    worst, compared = 0.0, 0
    for number, case in enumerate(instances(count, seed, largest)):
        try:
            solution = min_norm(case.gramian, case.center, case.epsilon)
            worst = max(worst, assert_certified(case, solution))
            assert_proves_common_descent(case, solution)
            if len(case.rows) <= compare_up_to:
                compared += assert_second_method_agrees(case, solution)
        except AssertionError as error:
            error.add_note(f"instance {number}: {case.name}, m={len(case.rows)}, ε={case.epsilon}")
            raise
    return worst, compared


def test_every_instance_is_certified_and_agrees_with_a_second_method() -> None:
    worst, compared = check(540, seed=0, largest=300, compare_up_to=30)
    assert worst <= 1e-10
    assert compared >= 200


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_thousands_of_instances_are_certified_and_agree(seed: int) -> None:
    worst, compared = check(3060, seed=seed, largest=300, compare_up_to=60)
    assert worst <= 1e-10
    assert compared >= 1200
