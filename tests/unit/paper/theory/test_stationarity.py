import pytest

from fedmgda.paper.theory import _stationarity


def verdicts(checks):
    return [check.holds for check in checks]


@pytest.mark.parametrize("seed", [1, 2])
def test_theorem_1a_holds_squared_and_not_as_printed(seed):
    assert verdicts(_stationarity.exact_gradients(seed, num_rounds=40)) == [True, False]


def test_theorem_1a_fails_with_a_step_above_two_over_l():
    assert verdicts(_stationarity.exact_gradients(0, step=2.5, num_rounds=10)) == [False, False]


def test_theorem_1a_holds_with_noise_of_known_size():
    known, rate = _stationarity.noisy_gradients(1, num_rounds=20)
    assert known.holds
    assert rate.holds
    assert rate.curve.bound[-1] < 0.3 * rate.curve.bound[0]


def test_the_known_size_of_the_noise_is_needed():
    known, _ = _stationarity.noisy_gradients(1, num_rounds=10, believed=0.001)
    assert not known.holds


def test_with_sampled_users_the_bound_holds_but_does_not_fall():
    (check,) = _stationarity.sampled_users(1, num_rounds=20)
    assert check.holds
    assert check.curve.bound[-1] > 0.5 * check.curve.bound[0]
