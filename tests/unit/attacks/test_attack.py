from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import RULES, aggregate, cohort_of, cohorts
from fedmgda._errors import SpecError
from fedmgda.attacks import (
    ATTACKS,
    Attack,
    BiasLoss,
    OpposeGradient,
    ScaleLoss,
    ScaleUpdate,
    Veto,
    under_attack,
)
from fedmgda.rules import FedAvg, FedMGDA
from fedmgda.values import FileUpdates

MODEL = np.zeros(2)
NO_DICE = None  # none of these attacks draws anything
COHORT = cohort_of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], losses=[0.1, 0.2, 0.3])
LOSS = st.floats(0.0, 1e300)


def differentiated(cohort):
    """Return a cohort that brings what protection asks for."""
    return replace(cohort, gradients=cohort.updates.rows - 1.0, before=cohort.losses)


def test_bias_touches_only_the_loss_of_the_malicious():
    seen = BiasLoss(clients=(2,), bias=1000.0).tamper(COHORT, MODEL, NO_DICE)
    assert seen.losses == pytest.approx([0.1, 0.2, 1000.3])
    np.testing.assert_array_equal(seen.updates, COHORT.updates)


def test_update_scaling_touches_only_the_row_of_the_malicious_and_not_the_original():
    seen = ScaleUpdate(clients=(0, 1), factor=-10.0).tamper(COHORT, MODEL, NO_DICE)
    np.testing.assert_array_equal(seen.updates, [[-10.0, -20.0], [-30.0, -40.0], [5.0, 6.0]])
    np.testing.assert_array_equal(COHORT.updates.rows[0], [1.0, 2.0])
    np.testing.assert_array_equal(seen.losses, COHORT.losses)


@pytest.mark.parametrize("kind", ATTACKS.values(), ids=ATTACKS)
def test_an_absent_attacker_changes_nothing(kind):
    cohort = differentiated(COHORT)
    seen = kind(clients=(9,)).tamper(cohort, MODEL, NO_DICE)
    for part in ("updates", "losses", "gradients", "before"):
        np.testing.assert_array_equal(getattr(seen, part), getattr(cohort, part))


def test_an_opposed_gradient_touches_only_the_gradient_of_the_malicious():
    cohort = differentiated(COHORT)
    seen = OpposeGradient(clients=(1,)).tamper(cohort, MODEL, NO_DICE)
    assert seen.gradients.rows.tolist() == [[0.0, 1.0], [-2.0, -3.0], [4.0, 5.0]]
    assert cohort.gradients.rows.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    for part in ("updates", "losses", "before"):
        np.testing.assert_array_equal(getattr(seen, part), getattr(cohort, part))


@pytest.mark.parametrize("kind", [OpposeGradient, Veto])
def test_an_attack_on_protection_does_nothing_where_there_is_none(kind):
    assert kind(clients=(1,)).tamper(COHORT, MODEL, NO_DICE) is COHORT


@given(LOSS, st.lists(LOSS, max_size=12))
def test_a_veto_says_of_every_model_that_its_loss_rose(before, losses):
    said = Veto(clients=(0,)).said_losses(0, before, np.array(losses))
    assert said.shape == (len(losses),)
    assert (said > before).all()


@given(LOSS, st.lists(LOSS, max_size=12))
def test_who_opposes_its_gradient_says_that_what_rose_fell(before, losses):
    losses = np.array(losses)
    said = OpposeGradient(clients=(0,)).said_losses(0, before, losses)
    assert (said >= 0.0).all()
    assert (said[losses > 2 * before] == 0.0).all()
    assert (said[losses >= before] <= before).all()
    assert (said[losses < before] >= before).all()


@pytest.mark.parametrize("kind", [ScaleLoss, BiasLoss, ScaleUpdate])
def test_the_other_attacks_say_the_truth_of_other_models(kind):
    losses = np.array([0.5, 0.25])
    np.testing.assert_array_equal(kind(clients=(0,)).said_losses(0, 1.0, losses), losses)


def test_loss_scaling_happens_inside_training():
    attack = ScaleLoss(clients=(1, 2), factor=100.0)
    assert attack.loss_factors == {1: 100.0, 2: 100.0}
    assert attack.tamper(COHORT, MODEL, NO_DICE) is COHORT
    assert BiasLoss(clients=(1,)).loss_factors == {}


def test_the_wrapped_function_is_what_the_server_meets():
    attacked = under_attack(lambda *_: COHORT, BiasLoss(clients=(0,), bias=1.0), seed=0)
    assert attacked(np.zeros(2), (0, 1, 2), 1).losses == pytest.approx([1.1, 0.2, 0.3])


@given(cohorts())
def test_normalised_rules_do_not_notice_update_scaling(cohort):
    attacked = ScaleUpdate(clients=(0,), factor=1e4).tamper(cohort, MODEL, NO_DICE)
    for rule in (FedMGDA(), FedMGDA(epsilon=0.1), FedAvg(normalize=True)):
        np.testing.assert_allclose(
            aggregate(rule, attacked).direction, aggregate(rule, cohort).direction, atol=1e-6
        )


@given(cohorts())
def test_bias_changes_no_bit_for_rules_that_read_no_loss(cohort):
    attacked = BiasLoss(clients=(0,), bias=1e4).tamper(cohort, MODEL, NO_DICE)
    for name in ("fedavg", "fedavg-n", "fedmgda", "fedmgda+"):
        np.testing.assert_array_equal(
            aggregate(RULES[name], attacked).direction, aggregate(RULES[name], cohort).direction
        )


def test_a_random_attack_draws_the_same_for_the_same_seed_round_and_client():
    @dataclass(frozen=True)
    class Noise(Attack):
        clients: tuple[int, ...] = (0, 2)

        def tamper(self, cohort, _params, generator):
            losses = cohort.losses.copy()
            for row in self.rows(cohort):
                losses[row] = generator(cohort.client_ids[row]).uniform()
            return replace(cohort, losses=losses)

    def drawn(seed, round_num):
        attacked = under_attack(lambda *_: COHORT, Noise(), seed=seed)
        return attacked(MODEL, (0, 1, 2), round_num).losses.tolist()

    assert drawn(3, 1) == drawn(3, 1)
    assert len({*drawn(3, 1), *drawn(3, 2), *drawn(4, 1)}) == 7, "all differ but the honest one"


def test_an_attack_that_returns_something_else_is_refused():
    class Nothing(Attack):
        clients = (0,)

        def tamper(self, _cohort, _params, _generator):
            return None

    attacked = under_attack(lambda *_: COHORT, Nothing(), seed=0)
    with pytest.raises(SpecError, match="tamper of the attack Nothing must return a Cohort"):
        attacked(MODEL, (0, 1, 2), 1)


def test_an_attack_that_raises_is_one_sentence():
    class Broken(Attack):
        clients = (0,)

        def tamper(self, _cohort, _params, _generator):
            raise KeyError("no\nsuch key")

    attacked = under_attack(lambda *_: COHORT, Broken(), seed=0)
    with pytest.raises(SpecError, match="tamper of the attack Broken raised KeyError"):
        attacked(MODEL, (0, 1, 2), 1)


def test_an_attack_on_updates_or_gradients_needs_them_in_memory(tmp_path):
    rows = FileUpdates.write(tmp_path / "rows", COHORT.updates.rows, 2)
    with pytest.raises(SpecError, match="on updates needs them in memory"):
        ScaleUpdate(clients=(0,)).tamper(replace(COHORT, updates=rows), MODEL, NO_DICE)
    with pytest.raises(SpecError, match="on gradients needs them in memory"):
        OpposeGradient(clients=(0,)).tamper(replace(COHORT, gradients=rows), MODEL, NO_DICE)


def test_buffers_are_scaled_with_the_update_they_came_with():
    cohort = replace(COHORT, buffers=np.ones((3, 1)))
    seen = ScaleUpdate(clients=(1,), factor=5.0).tamper(cohort, MODEL, NO_DICE)
    assert seen.buffers.tolist() == [[1.0], [5.0], [1.0]]
    assert cohort.buffers.tolist() == [[1.0]] * 3
