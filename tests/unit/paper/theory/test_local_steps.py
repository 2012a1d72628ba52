import pytest

from fedmgda.paper.theory import _local_steps


def verdicts(checks):
    return [check.holds for check in checks]


@pytest.mark.parametrize("seed", [1, 2])
def test_theorem_1b_holds_corrected_and_not_as_printed(seed):
    assert verdicts(_local_steps.local_steps(seed, num_rounds=60)) == [True, True, False]


def test_the_error_of_local_steps_counts_all_of_them():
    missed, _, _ = _local_steps.local_steps(0, num_rounds=20, believed=1)
    assert not missed.holds


def test_weights_leave_a_small_box_and_not_a_large_one():
    assert verdicts(_local_steps.weights_in_a_box()) == [False]
    assert verdicts(_local_steps.weights_in_a_box(epsilon=0.9)) == [True]
