import numpy as np
import pytest
from hypothesis import given

from cohorts import RULES, aggregate, cohort_of, cohorts
from fedmgda.attacks import BiasLoss, ScaleLoss, ScaleUpdate, under_attack
from fedmgda.rules import FedAvg, FedMGDA

COHORT = cohort_of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], losses=[0.1, 0.2, 0.3])


def test_bias_touches_only_the_loss_of_the_malicious():
    seen = BiasLoss(clients=(2,), bias=1000.0).tamper(COHORT)
    assert seen.losses == pytest.approx([0.1, 0.2, 1000.3])
    np.testing.assert_array_equal(seen.updates, COHORT.updates)


def test_update_scaling_touches_only_the_row_of_the_malicious_and_not_the_original():
    seen = ScaleUpdate(clients=(0, 1), factor=-10.0).tamper(COHORT)
    np.testing.assert_array_equal(seen.updates, [[-10.0, -20.0], [-30.0, -40.0], [5.0, 6.0]])
    np.testing.assert_array_equal(COHORT.updates[0], [1.0, 2.0])
    np.testing.assert_array_equal(seen.losses, COHORT.losses)


def test_an_absent_attacker_changes_nothing():
    for attack in (BiasLoss(clients=(9,)), ScaleUpdate(clients=(9,))):
        seen = attack.tamper(COHORT)
        np.testing.assert_array_equal(seen.updates, COHORT.updates)
        np.testing.assert_array_equal(seen.losses, COHORT.losses)


def test_loss_scaling_happens_inside_training():
    attack = ScaleLoss(clients=(1, 2), factor=100.0)
    assert attack.loss_factors == {1: 100.0, 2: 100.0}
    assert attack.tamper(COHORT) is COHORT
    assert BiasLoss(clients=(1,)).loss_factors == {}


def test_the_wrapped_function_is_what_the_server_meets():
    attacked = under_attack(lambda *_: COHORT, BiasLoss(clients=(0,), bias=1.0))
    assert attacked(np.zeros(2), (0, 1, 2), 1).losses == pytest.approx([1.1, 0.2, 0.3])


@given(cohorts())
def test_normalised_rules_do_not_notice_update_scaling(cohort):
    attacked = ScaleUpdate(clients=(0,), factor=1e4).tamper(cohort)
    for rule in (FedMGDA(), FedMGDA(epsilon=0.1), FedAvg(normalize=True)):
        np.testing.assert_allclose(
            aggregate(rule, attacked).direction, aggregate(rule, cohort).direction, atol=1e-6
        )


@given(cohorts())
def test_bias_changes_no_bit_for_rules_that_read_no_loss(cohort):
    attacked = BiasLoss(clients=(0,), bias=1e4).tamper(cohort)
    for name in ("fedavg", "fedavg-n", "fedmgda", "fedmgda+"):
        np.testing.assert_array_equal(
            aggregate(RULES[name], attacked).direction, aggregate(RULES[name], cohort).direction
        )
