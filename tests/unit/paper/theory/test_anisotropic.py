import numpy as np
import pytest

from fedmgda.paper.theory import _anisotropic
from fedmgda.paper.theory._problems import Quadratics, anisotropic


def verdicts(checks):
    return [check.holds for check in checks]


def test_the_proof_has_a_gap_where_the_pareto_set_is_curved_and_the_bound_stands():
    gap, *others = _anisotropic.curved_pareto_set(1)
    assert not gap.holds
    assert gap.measured > 10.0
    assert verdicts(others) == [True] * 3


def test_more_convexity_than_there_is_breaks_every_line():
    assert verdicts(_anisotropic.curved_pareto_set(1, believed=3.0)) == [False] * 4


def test_the_nearest_pareto_point_is_stationary_and_none_is_nearer():
    problem, point = anisotropic(2, 2, 3, 0.5), np.array([1.0, -2.0, 0.5])
    nearest = _anisotropic.nearest_pareto_point(problem, point)
    one, other = problem.gradients(nearest)
    assert one @ other == pytest.approx(-np.linalg.norm(one) * np.linalg.norm(other), rel=1e-6)
    dense = _anisotropic._pareto_points(problem, np.linspace(0.0, 1.0, 20_001))
    closest = np.linalg.norm(dense - point, axis=1).min()
    assert np.linalg.norm(nearest - point) <= closest + 1e-12


def test_it_need_not_be_better_for_everyone():
    problem = Quadratics(
        anchors=np.array([[0.0, 0.0], [4.0, 4.0]]),
        hessians=np.array([np.diag([1.0, 3.0]), np.diag([3.0, 1.0])]),
    )
    point = np.array([1.8, 4.2])
    nearest = _anisotropic.nearest_pareto_point(problem, point)
    assert (problem.losses(nearest) - problem.losses(point)).max() > 1.0
