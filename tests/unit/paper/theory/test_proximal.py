import numpy as np
import pytest

from fedmgda.paper.theory import _proximal
from fedmgda.paper.theory._problems import anisotropic


def verdicts(checks):
    return [check.holds for check in checks]


def test_fedprox_minimises_the_formula_and_fedavg_its_limits():
    checks = _proximal.proximal_average(1)
    assert verdicts(checks) == [True] * 6
    for curve in (checks[4].curve, checks[5].curve):
        assert np.all(np.diff(curve.measured) > 0)
        assert curve.measured[0] > 0


def test_the_formula_of_another_eta_has_another_map_and_another_minimum():
    found = verdicts(_proximal.proximal_average(1, believed=0.9))
    assert found == [False, False, True, True, True, True]


def test_the_formula_is_that_of_one_user_for_one_user():
    problem = anisotropic(3, 1, 3, 0.2)
    average = _proximal._Average(problem=problem, inverse=2.0)
    point = np.array([0.3, -1.0, 2.0])
    assert average(point) == pytest.approx(problem.losses(point)[0], rel=1e-12)
