from fedmgda.paper.theory._front import concave_front


def test_mgda_ends_where_no_average_does():
    assert [check.holds for check in concave_front(1)] == [True, True, True]


def test_neither_does_what_is_claimed_of_the_other():
    _, average, mgda = concave_front(1, swapped=True)
    assert not average.holds
    assert not mgda.holds
