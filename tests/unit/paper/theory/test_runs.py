import numpy as np

from fedmgda.federation import Constant
from fedmgda.paper.theory._problems import isotropic
from fedmgda.paper.theory._runs import exact_weights, federation_of, run
from fedmgda.rules import FedAvg

PROBLEM = isotropic(0, 4, 3, 1.0)


def test_a_run_holds_every_model_and_what_led_from_one_to_the_next():
    done = run(federation_of(PROBLEM, schedule=Constant(server_lr=0.3)), np.full(3, 2.0), 5)
    assert done.params.shape == (6, 3)
    np.testing.assert_array_equal(done.steps, 0.3)
    moved = done.params[:-1] - done.steps[:, None] * done.directions
    np.testing.assert_allclose(done.params[1:], moved, atol=1e-12)


def test_the_weights_of_a_run_with_all_users_are_the_exact_ones():
    done = run(federation_of(PROBLEM), np.full(3, 2.0), 1)
    np.testing.assert_allclose(done.lams[0], exact_weights(PROBLEM, done.params[0]), atol=1e-9)


def test_the_rule_the_update_and_the_cohort_can_be_chosen():
    federation = federation_of(
        PROBLEM, update=lambda _, t: np.full((4, 3), float(t)), rule=FedAvg(), per_round=2, seed=1
    )
    done = run(federation, np.zeros(3), 3)
    np.testing.assert_allclose(done.params[:, 0], [0, -1, -3, -6])
    assert all(len(record.sampled) == 2 for record in done.records)
