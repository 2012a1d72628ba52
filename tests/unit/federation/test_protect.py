"""The protected step on quadratics, where every loss is known in closed form."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cohorts import RULES
from fedmgda._errors import SpecError
from fedmgda.federation import (
    Constant,
    Protection,
    UniformSampler,
    load_checkpoint,
    run_round,
    save_checkpoint,
)
from fedmgda.rules import AFL, FedAvg, FedMGDA
from fedmgda.values import Failure
from quadratics import Quadratics, run

ANCHORS = np.random.default_rng(7).normal(size=(6, 4))
START = np.full(4, 3.0, np.float32)
OPPOSITE = np.array([[1.0, 0.0], [-1.0, 0.0]])
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


def plain(rule):
    """Return a rule whose iterates are not averaged: an average is not protected."""
    return replace(rule, average_iterates=False) if rule.average_iterates else rule


def kept(record, allow=0):
    """Tell whether a round kept the promise by what the participants said."""
    protected = record.protected
    if protected.held:
        return protected.after is None
    rose = ~(protected.after <= protected.before)
    return int(rose.sum()) <= allow


@every_rule
@pytest.mark.parametrize("server_lr", [0.1, 1.0, 30.0])
def test_nobody_ends_a_round_with_a_higher_loss(rule, server_lr):
    federation = Quadratics(ANCHORS, client_lr=0.4, steps=3).protected(
        plain(rule),
        sampler=UniformSampler(num_clients=6, per_round=4),
        schedule=Constant(server_lr=server_lr),
        seed=3,
    )
    states, records = run(federation, START, 25)
    problem = Quadratics(ANCHORS)
    for before, after, record in zip(states, states[1:], records, strict=False):
        ids = list(record.cohort.client_ids)
        assert kept(record)
        assert (problem.losses(after.params)[ids] <= problem.losses(before.params)[ids]).all()
        assert record.protected.held == np.array_equal(after.params, before.params)


def test_without_protection_the_same_steps_do_raise_losses():
    federation = Quadratics(ANCHORS, client_lr=0.4, steps=3).federation(
        FedAvg(), schedule=Constant(server_lr=1.0)
    )
    states, _ = run(federation, START, 25)
    problem = Quadratics(ANCHORS)
    rose = [
        (problem.losses(after.params) > problem.losses(before.params)).any()
        for before, after in itertools.pairwise(states)
    ]
    assert any(rose)


def test_a_step_that_serves_everybody_well_is_made_as_it_was_proposed():
    anchors = np.array([[5.0, 1.0], [5.0, -1.0]])
    quadratics, rule, start = Quadratics(anchors), FedAvg(), np.zeros(2, np.float32)
    schedule = Constant(server_lr=0.1)
    expected, _ = run(quadratics.federation(rule, schedule=schedule), start, 1)
    states, (record,) = run(quadratics.protected(rule, schedule=schedule), start, 1)
    assert not record.protected.multipliers.any()
    assert record.protected.scale == 1.0
    np.testing.assert_array_equal(states[1].params, expected[1].params)


def test_a_stationary_cohort_is_held_with_a_proof():
    federation = Quadratics(OPPOSITE).protected(FedAvg())
    states, (record,) = run(federation, np.zeros(2, np.float32), 1)
    protected = record.protected
    assert (protected.held, protected.reason, protected.scale) == (True, "stationary", None)
    np.testing.assert_allclose(protected.omega_lam, [0.5, 0.5])
    assert protected.omega <= 1e-6
    assert (states[1].held_rounds, states[1].failed_rounds, record.failed) == (1, 0, None)


@pytest.mark.parametrize(("start", "held"), [(0.0, True), (9.0, False)])
def test_a_crowd_is_judged_by_its_gradients_themselves(start, held):
    anchors = np.random.default_rng(1).normal(size=(120, 3))
    federation = Quadratics(anchors).protected(FedAvg())
    _, (record,) = run(federation, np.full(3, start, np.float32), 1)
    protected, gradients = record.protected, record.cohort.gradients.rows.astype(np.float64)
    assert protected.held == held
    direction = protected.omega_lam @ (gradients / protected.gradient_norms[:, None])
    assert np.linalg.norm(direction) == pytest.approx(protected.omega, rel=1e-9, abs=1e-14)
    assert protected.omega <= 1e-13 if held else protected.omega > 0.5
    assert protected.omega_gap <= 1e-13


def test_a_round_that_is_held_lets_the_rule_remember():
    rule = AFL(gamma_w=0.1, gamma_lambda=0.5, average_iterates=False)
    federation = Quadratics(np.array([[1.0, 0.0], [-2.0, 0.0]])).protected(rule)
    states, (record,) = run(federation, np.zeros(2, np.float32), 1)
    assert record.protected.held
    before, after = (state.rule_state["lam"] for state in states)
    assert not np.array_equal(before, after)


def test_held_rounds_are_counted_over_a_checkpoint(tmp_path):
    federation = Quadratics(OPPOSITE).protected(FedAvg())
    states, _ = run(federation, np.zeros(2, np.float32), 3)
    assert [state.held_rounds for state in states] == [0, 1, 2, 3]
    save_checkpoint(states[2], tmp_path)
    server = load_checkpoint(tmp_path / "round-00000002.safetensors")
    assert run_round(federation, server)[0].held_rounds == 3


def test_who_is_at_its_minimum_gives_no_row_and_still_votes():
    anchors = np.array([[0.0, 0.0], [4.0, 0.0]])
    federation = Quadratics(anchors).protected(FedAvg())
    _, (record,) = run(federation, np.zeros(2, np.float32), 1)
    protected = record.protected
    np.testing.assert_array_equal(protected.gramian, [[0.0, 0.0], [0.0, 1.0]])
    assert protected.reason == "opposed"
    assert len(protected.opposed) == 12
    assert all(0 in trial for trial in protected.opposed)


def test_a_step_of_nothing_is_held():
    federation = Quadratics(np.zeros((2, 2))).protected(FedAvg(), schedule=Constant(server_lr=1.0))
    _, (record,) = run(federation, np.zeros(2, np.float32), 1)
    assert (record.protected.held, record.protected.reason) == (True, "unmoved")
    assert record.protected.omega is None


@pytest.mark.parametrize(("worse", "stay"), [(-1.0, False), (0.0, False), (100.0, True)])
def test_buffers_that_are_in_the_way_of_every_length_stay(worse, stay):
    """A whole step brings a float buffer from 0 to -1, which costs everybody `worse`."""
    quadratics, start = Quadratics(ANCHORS[:3], client_lr=0.1), np.append(START, 0).astype("f4")

    def train(params, client_ids, round_num):
        cohort = quadratics.train_and_differentiate(params[:-1], client_ids, round_num)
        return replace(cohort, buffers=np.ones((len(client_ids), 1), np.float32))

    def losses(models, client_ids):
        found = quadratics.evaluate(models[:, :-1], client_ids)
        return replace(found, losses=found.losses - worse * models[:, -1:])

    federation = quadratics.protected(FedAvg(), train_cohort=train, losses=losses, num_buffers=1)
    states, (record,) = run(federation, start, 1)
    protected = record.protected
    assert not protected.held
    assert kept(record)
    assert protected.buffers_stayed == stay
    assert states[1].params[-1] == (0.0 if stay else -1.0)
    assert [len(trial) for trial in protected.other_opposed] == [3] * 12 * stay
    assert protected.opposed == ((),)


def test_allow_leaves_out_who_turns_the_step_most_and_says_whom():
    anchors = np.array([[4.0, 1.0], [4.0, -1.0], [-5.0, 0.0]])
    quadratics, start = Quadratics(anchors, client_lr=0.1), np.zeros(2, np.float32)
    _, (held,) = run(quadratics.protected(FedAvg()), start, 1)
    assert held.protected.reason == "stationary"
    allowing = quadratics.protected(FedAvg(), Protection(allow=1))
    states, (record,) = run(allowing, start, 1)
    assert record.protected.overridden == (2,)
    assert record.protected.opposed[-1] == (2,)
    assert not record.protected.held
    assert states[1].params[0] > 0
    assert kept(record, allow=1)
    assert not kept(record)


def test_allow_bears_one_that_opposes_whatever_is_tried():
    """Who turns the step most is left out and opposes too: with everybody back there is a step."""
    anchors = np.array([[4.0, 0.0], [1.0, 4.0], [1.0, 3.0], [1.0, 3.5]])
    quadratics, start = Quadratics(anchors), np.zeros(2, np.float32)

    def with_a_veto(models, client_ids):
        found = quadratics.evaluate(models, client_ids)
        found.losses[:, 1] = np.inf
        return found

    # A step that the first client turns, for what is proposed goes against it.
    federation = quadratics.protected(
        FedAvg(), Protection(allow=1), losses=with_a_veto, schedule=Constant(server_lr=0.1)
    )
    _, (record,) = run(federation, start, 1)
    assert record.protected.opposed[-1] == (1,)
    assert not record.protected.held


def test_allow_does_not_bear_one_whose_update_gradient_and_vote_all_lie():
    """A step against somebody, that gradient turned round, and a veto: two oppose, one may."""
    anchors = np.random.default_rng(0).normal(size=(10, 6)) * 0.6 + [1, 1, 1, 0, 0, 0]
    quadratics, start, liar, victim = Quadratics(anchors), np.zeros(6, np.float32), 9, 0

    def train(params, client_ids, round_num):
        cohort = quadratics.train_and_differentiate(params, client_ids, round_num)
        updates, gradients = np.array(cohort.updates), np.array(cohort.gradients)
        against = -gradients[victim] / np.linalg.norm(gradients[victim])
        updates[liar] = 1.5 * np.linalg.norm(updates[:liar], axis=1).sum() * against
        gradients[liar] = -gradients[victim]
        return replace(cohort, updates=updates, gradients=gradients)

    def vote(models, client_ids):
        found = quadratics.evaluate(models, client_ids)
        found.losses[:, liar] = np.inf
        return found

    honest, lying = {}, {"train_cohort": train, "losses": vote}
    for changes, held in ((honest, 0), (lying, 20)):
        federation = quadratics.protected(
            FedAvg(), Protection(allow=1), schedule=Constant(server_lr=0.1), **changes
        )
        _, records = run(federation, start, 20)
        assert sum(record.protected.held for record in records) == held


def test_who_is_lost_between_the_phases_opposes():
    quadratics = Quadratics(np.array([[4.0, 1.0], [4.0, -1.0]]))

    def without_the_first(models, client_ids):
        found = quadratics.evaluate(models, client_ids)
        return replace(found, failures=(Failure(client_id=0, reason="gone"),))

    def silent(models, client_ids):
        return quadratics.evaluate(models, client_ids[1:])

    for losses in (without_the_first, silent):
        federation = quadratics.protected(FedAvg(), losses=losses)
        _, (record,) = run(federation, np.zeros(2, np.float32), 1)
        assert record.protected.opposed == ((0,),) * 12


def test_a_model_beyond_its_numbers_is_never_made_whoever_may_be_worse_off():
    quadratics = Quadratics(np.array([[3.4e38, 0.0], [3.3e38, 0.0]]))
    start = np.array([3e38, 0.0], np.float32)

    def further(params, client_ids, round_num):
        cohort = quadratics.train_and_differentiate(params, client_ids, round_num)
        return replace(cohort, losses=np.ones(2), before=np.ones(2))

    federation = quadratics.protected(
        FedAvg(), Protection(allow=2), train_cohort=further, schedule=Constant(server_lr=4.0)
    )
    with np.errstate(over="ignore"):
        states, (record,) = run(federation, start, 1)
    assert np.isfinite(states[1].params).all()
    assert record.protected.scale == 0.25
    assert record.protected.opposed[:2] == ((0, 1),) * 2


def test_an_answer_that_is_not_about_every_model_is_refused():
    quadratics = Quadratics(ANCHORS)

    def of_the_first(models, client_ids):
        found = quadratics.evaluate(models, client_ids)
        return replace(found, losses=found.losses[0])

    federation = quadratics.protected(FedAvg(), losses=of_the_first, trials_at_once=3)
    with pytest.raises(SpecError, match=r"of 3 models, 6 participants answered .* shape \(6,\)"):
        run(federation, START, 1)
    whole, alone = (
        run(quadratics.protected(FedAvg(), losses=losses), START, 3)[0][-1].params
        for losses in (quadratics.evaluate, of_the_first)
    )
    np.testing.assert_array_equal(alone, whole)


@pytest.mark.parametrize("at_once", [2, 5, 12, 100])
def test_how_many_lengths_are_asked_about_at_once_changes_nothing(at_once):
    quadratics = Quadratics(ANCHORS, client_lr=0.4, steps=3)
    schedule = Constant(server_lr=20.0)
    one, some = (
        run(quadratics.protected(FedAvg(), schedule=schedule, trials_at_once=k), START, 5)
        for k in (1, at_once)
    )
    np.testing.assert_array_equal(one[0][-1].params, some[0][-1].params)
    assert [r.protected.opposed for r in one[1]] == [r.protected.opposed for r in some[1]]


def test_a_client_without_gradient_or_loss_is_quarantined():
    quadratics = Quadratics(ANCHORS)

    def spoiled(params, client_ids, round_num):
        cohort = quadratics.train_and_differentiate(params, client_ids, round_num)
        gradients = np.array(cohort.gradients)
        gradients[0, 1] = np.nan
        before = cohort.before.copy()
        before[1] = np.inf
        return replace(cohort, gradients=gradients, before=before)

    _, (record,) = run(quadratics.protected(train_cohort=spoiled), START, 1)
    reasons = {failure.client_id: failure.reason for failure in record.quarantined}
    assert reasons == {0: "1 NaN in the gradient", 1: "loss is inf"}
    assert record.cohort.client_ids == (2, 3, 4, 5)


def test_clients_that_bring_no_gradients_are_quarantined_all():
    quadratics = Quadratics(ANCHORS)
    federation = quadratics.protected(train_cohort=quadratics.train_cohort)
    _, (record,) = run(federation, START, 1)
    assert record.failed == "no client returned a usable update"
    assert {f.reason for f in record.quarantined} == {
        "no gradient and loss at the received model came back"
    }


def test_an_average_of_models_is_refused():
    with pytest.raises(SpecError, match=r"set rule\.average_iterates to false"):
        Quadratics(ANCHORS).protected(AFL(average_iterates=True))


@pytest.mark.parametrize(
    "bad", [{"allow": -1}, {"margin": 1.5}, {"margin": np.nan}, {"trials": 0}, {"patience": 0}]
)
def test_settings_that_cannot_be_meant_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Protection(**bad)


def test_the_evidence_speaks_of_the_step_that_was_made():
    federation = Quadratics(ANCHORS, client_lr=0.4).protected(
        FedMGDA(), schedule=Constant(server_lr=8.0)
    )
    states, (record,) = run(federation, START, 1)
    protected = record.protected
    moved = states[0].params.astype(float) - states[1].params
    gradients = states[0].params - ANCHORS
    unit = gradients / np.linalg.norm(gradients, axis=1, keepdims=True)
    np.testing.assert_allclose(protected.moved_inner, unit @ moved, rtol=1e-5)
    assert protected.moved_norm == pytest.approx(np.linalg.norm(moved))
    assert protected.moved_norm == pytest.approx(protected.scale * protected.turned_norm, rel=1e-5)
    floor = protected.margin * protected.step_norm
    assert (unit @ moved >= protected.scale * floor - 1e-5).all()
