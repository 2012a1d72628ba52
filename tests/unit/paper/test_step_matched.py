import numpy as np
import pytest
from hypothesis import given

from cohorts import aggregate, cohort_of, cohorts
from fedmgda.federation import Constant, initial_state, run_round
from fedmgda.paper import StepMatched
from fedmgda.rules import FedAvg, FedMGDA
from quadratics import Quadratics


@given(cohorts(with_zeros=True))
def test_a_step_is_as_long_as_that_of_fedmgda_plus(cohort):
    matched, common = aggregate(StepMatched(), cohort), aggregate(FedMGDA(), cohort)
    if not aggregate(FedAvg(normalize=True), cohort).stalled:  # else there is no way to go
        assert matched.norm == pytest.approx(common.norm, rel=1e-6, abs=1e-7)


@given(cohorts(with_zeros=True))
def test_it_points_where_fedavg_n_points_and_leaves_out_the_same_clients(cohort):
    matched, mean = aggregate(StepMatched(), cohort), aggregate(FedAvg(normalize=True), cohort)
    ratio = matched.norm / mean.norm if mean.norm else 1.0
    np.testing.assert_allclose(matched.direction, ratio * mean.direction, atol=1e-9)
    assert matched.dropped == mean.dropped
    assert ratio <= 1.0 + 1e-7, "the min-norm point is the shortest mixture"


def test_in_a_round_of_the_engine_both_move_the_model_equally_far():
    problem = Quadratics(np.random.default_rng(3).normal(size=(5, 4)))
    start, far = np.full(4, 0.5), {}
    for rule in (StepMatched(), FedMGDA(), FedAvg(normalize=True)):
        federation = problem.federation(rule, schedule=Constant(server_lr=0.5))
        after, _ = run_round(federation, initial_state(federation, start))
        far[type(rule)] = np.linalg.norm(after.params - start)
    assert far[StepMatched] == pytest.approx(far[FedMGDA], rel=1e-9)
    assert far[FedAvg] > 1.05 * far[FedMGDA], "without it they do not"


def test_nobody_who_moves_leaves_the_model_where_it_is():
    assert aggregate(StepMatched(), cohort_of(np.zeros((2, 3)))).norm == 0.0
