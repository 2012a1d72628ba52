import numpy as np

from fedmgda.paper.theory import _proximal


def verdicts(checks):
    return [check.holds for check in checks]


def test_fedprox_ends_at_the_proximal_average_and_fedavg_elsewhere():
    checks = _proximal.proximal_average(1)
    assert verdicts(checks) == [True] * 5
    assert checks[3].measured > 0.1
    assert np.all(np.diff(checks[4].curve.measured) > 0)


def test_another_eta_has_another_fixed_point():
    assert verdicts(_proximal.proximal_average(1, believed=0.9)) == [False, True, True, False, True]
