import pytest

from fedmgda.paper.theory._front import concave_front


@pytest.mark.parametrize("seed", [0, 1])
def test_mgda_ends_where_no_average_does(seed):
    assert [check.holds for check in concave_front(seed)] == [True, True, True]


def test_neither_does_what_is_claimed_of_the_other():
    _, average, mgda = concave_front(0, swapped=True)
    assert not average.holds
    assert not mgda.holds
