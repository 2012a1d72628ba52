import numpy as np
import pytest

from fedmgda.paper.theory import _descent


def verdicts(checks):
    return [check.holds for check in checks]


def test_common_descent_needs_the_whole_simplex():
    assert verdicts(_descent.common_descent(1)) == [True] * 3
    assert verdicts(_descent.common_descent(1, epsilon=0.05)) == [False] * 3


def test_every_face_finds_the_min_norm_point_even_where_it_is_zero():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert _descent._min_norm_by_faces(rows) == pytest.approx(np.sqrt(0.5))
    around = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8], [0.3, 0.9]])
    assert _descent._min_norm_by_faces(around) == pytest.approx(0.0, abs=1e-12)


def test_a_small_box_sacrifices_the_third_user_by_the_known_amount():
    sacrificed, protected = _descent.small_epsilon()
    assert not sacrificed.holds
    assert sacrificed.measured == pytest.approx(0.077, abs=5e-4)
    assert protected.holds
    assert protected.measured == pytest.approx(-0.05, abs=1e-9)


def test_mixtures_are_protected_inside_the_box_and_not_beyond_it():
    assert verdicts(_descent.feasible_mixtures(1)) == [True]
    assert verdicts(_descent.feasible_mixtures(1, tested=0.5)) == [False]


def test_the_direction_shrinks_with_epsilon_and_starts_at_fedavg():
    assert verdicts(_descent.shorter_with_epsilon(1)) == [True]
    assert verdicts(_descent.down_to_fedavg(1)) == [True]
    assert verdicts(_descent.down_to_fedavg(1, to=1e-6)) == [False]


def test_dependent_gradients_are_not_stationary():
    (check,) = _descent.more_users_than_dimensions()
    assert not check.holds
    assert check.measured == pytest.approx(0.5)
