import numpy as np
import pytest

from fedmgda.federation import Harmonic
from fedmgda.paper.theory import _local_steps
from fedmgda.paper.theory._problems import wells
from fedmgda.paper.theory._runs import exact_weights, federation_of, run


def verdicts(checks):
    return [check.holds for check in checks]


@pytest.mark.parametrize("seed", [1, 2])
def test_theorem_1b_holds_corrected_and_not_as_printed(seed):
    assert verdicts(_local_steps.local_steps(seed, num_rounds=60)) == [True, True, False]


def test_the_error_of_local_steps_counts_all_of_them():
    missed, _, _ = _local_steps.local_steps(0, num_rounds=20, believed=1)
    assert not missed.holds


def test_eta_before_the_sum_fails_where_it_falls_and_not_where_it_stays():
    assert verdicts(_local_steps.falling_steps()) == [True, False]
    assert verdicts(_local_steps.falling_steps(later=0.5)) == [True, True]


def test_on_wells_eta_before_the_sum_is_not_shown_to_fail():
    problem, steps, local_lr = wells(0, 4, 6), 5, 0.01 / np.arange(1.0, 101.0)
    federation = federation_of(
        problem,
        update=_local_steps._several_steps(problem, local_lr, steps),
        schedule=Harmonic(curvature=2.0),
    )
    done = run(federation, np.full(6, 0.35), 100)
    exact = np.array([exact_weights(problem, point) for point in done.params[:-1]])
    error = 2.0 * np.linalg.norm(exact - done.lams, axis=1) + local_lr * (steps - 1)
    smallest, _, outside = _local_steps._sides(problem, done, exact, error)
    assert (smallest <= outside).all()


def test_weights_leave_a_small_box_and_not_a_large_one():
    assert verdicts(_local_steps.weights_in_a_box()) == [False]
    assert verdicts(_local_steps.weights_in_a_box(epsilon=0.9)) == [True]
