"""What clients say to a server that protects its steps, and what is true, kept apart."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedmgda._errors import SpecError
from fedmgda.attacks import (
    ATTACKS,
    Attack,
    BiasLoss,
    ClientsUnderAttack,
    OpposeGradient,
    ScaleUpdate,
    Veto,
)
from fedmgda.federation import Constant, Protection, UniformSampler
from fedmgda.rules import FedAvg, FedMGDA
from fedmgda.values import Failure
from quadratics import QuadraticClients, Quadratics, run

SPREAD = np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]])
START = np.zeros(3, np.float32)


def attacked(quadratics, attack, allow=0, rule=None, **changes):
    """Return a protected federation whose server meets what the clients say."""
    met = ClientsUnderAttack(QuadraticClients(quadratics), attack, seed=0)
    return quadratics.protected(
        rule or FedAvg(),
        Protection(allow=allow),
        train_cohort=partial(met.train_cohort, gradients=True),
        losses=partial(met.evaluate, split="train"),
        **changes,
    )


def measured(quadratics, states, records):
    """Yield for each round the record, and the true losses of its participants around it."""
    for before, after, record in zip(states, states[1:], records, strict=False):
        ids = list(record.cohort.client_ids)
        yield record, quadratics.losses(before.params)[ids], quadratics.losses(after.params)[ids]


@st.composite
def federations(draw, kinds=(Veto, OpposeGradient, BiasLoss, ScaleUpdate)):
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    quadratics = Quadratics(3.0 * rng.normal(size=(n, d)) + 2.0, client_lr=0.3, steps=2)
    malicious = tuple(range(draw(st.integers(1, n - 1))))
    attack = draw(st.sampled_from(kinds))(clients=malicious)
    allow = draw(st.integers(0, 3))
    federation = attacked(
        quadratics,
        attack,
        allow,
        draw(st.sampled_from([FedAvg(), FedAvg(normalize=True), FedMGDA()])),
        schedule=Constant(server_lr=draw(st.sampled_from([0.1, 1.0, 10.0]))),
        sampler=UniformSampler(num_clients=n, per_round=draw(st.integers(1, n))),
    )
    return quadratics, attack, allow, run(federation, np.zeros(d, np.float32), 6)


@settings(deadline=None)
@given(federations())
def test_at_most_so_many_oppose_a_step_that_is_made_whoever_lies(case):
    quadratics, attack, allow, (states, records) = case
    for record, before, after in measured(quadratics, states, records):
        protected = record.protected
        honest = np.array([i not in attack.clients for i in record.cohort.client_ids])
        np.testing.assert_array_equal(protected.before[honest], before[honest])
        if protected.held:
            np.testing.assert_array_equal(before, after)
            continue
        np.testing.assert_array_equal(protected.after[honest], after[honest])
        opposed = protected.opposed[-1]
        against = sum(i in attack.clients for i in opposed)
        assert len(opposed) <= allow
        # Attackers who oppose use up what `allow` gives; the rest is all that can befall others.
        assert int((after > before)[honest].sum()) <= allow - against


@settings(deadline=None)
@given(federations(kinds=[Veto]))
def test_a_veto_is_overridden_up_to_the_number_allowed_and_holds_beyond(case):
    quadratics, attack, allow, (states, records) = case
    for record, before, after in measured(quadratics, states, records):
        ids = record.cohort.client_ids
        vetoing = sum(i in attack.clients for i in ids)
        honest = np.array([i not in attack.clients for i in ids])
        if vetoing > allow:
            assert record.protected.held
        if vetoing >= allow:
            assert (after <= before)[honest].all(), "nothing is left that could befall others"


@settings(deadline=None)
@given(federations(kinds=[OpposeGradient]))
def test_an_opposed_gradient_never_makes_an_honest_client_worse_off_if_nobody_may_be(case):
    quadratics, attack, allow, (states, records) = case
    for record, before, after in measured(quadratics, states, records):
        honest = np.array([i not in attack.clients for i in record.cohort.client_ids])
        assert allow or (after <= before)[honest].all()


def test_an_opposed_gradient_turns_the_step_against_its_own_sender():
    quadratics = Quadratics(SPREAD, client_lr=0.1)
    federation = attacked(quadratics, OpposeGradient(clients=(2,)))
    states, records = run(federation, START, 3)
    for record, before, after in measured(quadratics, states, records):
        assert not record.protected.held
        assert record.protected.multipliers[2] > 0
        assert (after[:2] < before[:2]).all()
        assert after[2] > before[2]
        assert record.protected.after[2] == pytest.approx(2 * before[2] - after[2])


def test_an_opposed_gradient_stops_a_round_where_the_others_agree_with_the_truth():
    anchors = np.array([[4.0, 1.0, 0.0], [4.0, -1.0, 0.0], [5.0, 0.0, 0.0]])
    quadratics, attack = Quadratics(anchors, client_lr=0.1), OpposeGradient(clients=(2,))
    _, (held,) = run(attacked(quadratics, attack), START, 1)
    assert held.protected.reason == "stationary"
    _, (made,) = run(attacked(quadratics, attack, allow=1), START, 1)
    assert (made.protected.held, made.protected.overridden) == (False, (2,))
    assert made.protected.opposed == ((2,),), "it says that the step it did not ask for is bad"


def test_with_the_truth_it_would_oppose_what_it_asked_for():
    @dataclass(frozen=True)
    class FalseGradientOnly(Attack):
        clients: tuple[int, ...] = (2,)

        def tamper(self, cohort, params, generator):
            return OpposeGradient(clients=self.clients).tamper(cohort, params, generator)

    _, (record,) = run(attacked(Quadratics(SPREAD, client_lr=0.1), FalseGradientOnly()), START, 1)
    assert record.protected.reason == "opposed"
    assert set(record.protected.opposed) == {(2,)}


@pytest.mark.parametrize("kind", ATTACKS.values(), ids=ATTACKS)
def test_who_was_not_asked_for_a_gradient_says_the_truth(kind):
    truth = QuadraticClients(Quadratics(SPREAD))
    met = ClientsUnderAttack(truth, kind(clients=(0, 1)), seed=0)
    met.train_cohort(START, (0, 2), 1)
    for split in ("train", "test"):
        said = met.evaluate(START + 1, (0, 1, 2), split).losses
        np.testing.assert_array_equal(said, truth.evaluate(START + 1, (0, 1, 2), split).losses)


def test_only_training_losses_of_those_asked_are_falsified_for_one_model_and_for_several():
    truth = QuadraticClients(Quadratics(SPREAD))
    met = ClientsUnderAttack(truth, Veto(clients=(0, 1)), seed=0)
    before = met.train_cohort(START, (0, 2), 1, gradients=True).before
    models = np.array([START + 1, START - 1])
    one, two = (met.evaluate(params, (2, 1, 0), "train").losses for params in (models[0], models))
    true = truth.evaluate(models, (2, 1, 0), "train").losses
    np.testing.assert_array_equal(two, np.c_[true[:, :2], [2 * before[0] + 1] * 2])
    np.testing.assert_array_equal(one, two[0])
    test = met.evaluate(models, (2, 1, 0), "test").losses
    np.testing.assert_array_equal(test, truth.evaluate(models, (2, 1, 0), "test").losses)


def test_a_client_that_is_gone_says_nothing():
    class Losing(QuadraticClients):
        def evaluate(self, params, client_ids, split, *, predictions=False):
            found = super().evaluate(params, client_ids, split, predictions=predictions)
            losses = found.losses.copy()
            losses[..., 0] = np.nan
            return replace(found, losses=losses, failures=(Failure(client_id=0, reason="gone"),))

    met = ClientsUnderAttack(Losing(Quadratics(SPREAD)), Veto(clients=(0,)), seed=0)
    met.train_cohort(START, (0, 1), 1, gradients=True)
    assert np.isnan(met.evaluate(START, (0, 1), "train").losses[0])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (np.zeros(3), "must return 2 numbers, got an array of float64 of shape"),
        (0.0, "must return 2 numbers"),
        (["a", "b"], "must return 2 numbers"),
        (None, "must return 2 numbers"),
    ],
)
def test_what_an_attack_cannot_say_is_one_sentence(said, words):
    @dataclass(frozen=True)
    class Odd(Attack):
        clients: tuple[int, ...] = (0,)

        def tamper(self, cohort, _params, _generator):
            return cohort

        def said_losses(self, _client_id, _before, _losses):
            return said

    met = ClientsUnderAttack(QuadraticClients(Quadratics(SPREAD)), Odd(), seed=0)
    met.train_cohort(START, (0, 1), 1, gradients=True)
    with pytest.raises(SpecError, match=words):
        met.evaluate(np.array([START, START]), (0, 1), "train")
