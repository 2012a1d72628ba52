import pytest

from fedmgda.paper.theory import _pareto


def test_optimal_points_are_stationary_and_others_are_not():
    (optimal,) = _pareto.optimal_is_stationary(1)
    assert optimal.holds
    (others,) = _pareto.optimal_is_stationary(1, worst=True)
    assert not others.holds


@pytest.mark.parametrize(("moved", "holds"), [(0.0, True), (0.05, False)])
def test_nothing_is_better_for_all_than_a_stationary_point(moved, holds):
    (check,) = _pareto.stationary_is_optimal(1, moved=moved)
    assert check.holds is holds
