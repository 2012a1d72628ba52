from fedmgda.paper.theory import _decrease


def verdicts(checks):
    return [check.holds for check in checks]


def test_losses_fall_with_a_step_of_one_over_l_and_rise_with_one_above_two():
    assert verdicts(_decrease.one_step_decrease(1)) == [True, True]
    assert verdicts(_decrease.one_step_decrease(1, step=2.5)) == [False, False]


def test_between_one_and_two_over_l_less_is_promised():
    assert verdicts(_decrease.one_step_decrease(1, step=1.9))[1] is False


def test_on_normalised_updates_the_promise_counts_the_curvature():
    assert verdicts(_decrease.normalised_step(1)) == [True]
    assert verdicts(_decrease.normalised_step(1, smoothness=-1.0)) == [False]


def test_normalised_steps_converge_where_gradients_stay_longer_than_the_step_lets_them():
    assert [check.holds for check in _decrease.normalised_convergence()] == [True, True]
    assert [check.holds for check in _decrease.normalised_convergence(step=3.0)] == [False, False]
