import numpy as np
import pytest

from fedmgda.paper.theory._check import Place, along, at_most, equal

PLACE = Place(claim="A is small.", where="Theorem 9", problem="a line", axes=("T", "A"))


def test_a_check_carries_what_it_is_about():
    check = at_most(PLACE, 1.0, 2.0)
    assert (check.claim, check.where, check.problem) == ("A is small.", "Theorem 9", "a line")
    assert (check.measured, check.relation, check.bound) == (1.0, "<=", 2.0)
    assert (check.axes, check.curve, check.as_printed) == (("T", "A"), None, False)


@pytest.mark.parametrize(
    ("measured", "holds"), [(1.0, True), (2.0, True), (2.1, False), (np.nan, False)]
)
def test_at_most_holds_up_to_the_bound_and_never_for_nan(measured, holds):
    assert at_most(PLACE, measured, 2.0).holds is holds


@pytest.mark.parametrize(
    ("measured", "holds"), [(2.0, True), (2.0 + 1e-10, True), (2.001, False), (np.nan, False)]
)
def test_equal_forgives_rounding_and_nothing_else(measured, holds):
    assert equal(PLACE, measured, 2.0).holds is holds


def test_equal_to_the_last_bit_forgives_nothing():
    assert equal(PLACE, 0.0, 0.0, tol=0.0).holds
    assert not equal(PLACE, 1e-300, 0.0, tol=0.0).holds


def test_a_curve_shows_its_worst_point():
    check = along(PLACE, [1, 2, 3], [1.0, 1.9, 0.5], [4.0, 2.0, 1.0])
    assert check.holds
    assert (check.measured, check.bound) == (1.9, 2.0)
    np.testing.assert_array_equal(check.curve.x, [1, 2, 3])


@pytest.mark.parametrize("bad", [2.1, np.nan])
def test_one_point_beyond_its_bound_is_enough_to_fail(bad):
    check = along(PLACE, [1, 2, 3], [1.0, bad, 0.5], [4.0, 2.0, 1.0])
    assert not check.holds
    assert check.measured == pytest.approx(bad, nan_ok=True)
