from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import RULES
from fedmgda import Cohort
from fedmgda._errors import FederationStalledError, SpecError
from fedmgda.federation import (
    Constant,
    UniformSampler,
    initial_state,
    load_checkpoint,
    run_round,
    save_checkpoint,
    simulate,
)
from fedmgda.rules import AFL, FedAvg, FedMGDA, Rule
from fedmgda.values import Failure, FileUpdates, Weighing
from quadratics import Quadratics, run

ANCHORS = np.random.default_rng(7).normal(size=(6, 4))
START = np.full(4, 3.0)
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


def partial_federation(rule, **changes):
    sampler = UniformSampler(num_clients=6, per_round=3)
    return Quadratics(ANCHORS, client_lr=0.3).federation(rule, sampler=sampler, seed=5, **changes)


def poisoned(train_cohort, spoil):
    """Let `spoil(cohort)` change what the clients of a federation return."""

    def train(params, client_ids, round_num):
        return spoil(train_cohort(params, client_ids, round_num))

    return train


@every_rule
def test_ten_rounds_a_checkpoint_and_ten_more_are_twenty_rounds(rule, tmp_path):
    federation = partial_federation(rule)
    whole, _ = run(federation, START, 20)
    save_checkpoint(whole[10], tmp_path)
    server = load_checkpoint(tmp_path / "round-00000010.safetensors")
    for _ in range(10):
        server, _ = run_round(federation, server)
    np.testing.assert_array_equal(server.params, whole[20].params)
    np.testing.assert_array_equal(server.model, whole[20].model)
    assert server.rule_state.keys() == whole[20].rule_state.keys()
    for name, array in server.rule_state.items():
        np.testing.assert_array_equal(array, whole[20].rule_state[name])


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("center", ["uniform", "examples"])
def test_epsilon_zero_has_the_trajectory_of_fedavg_to_the_bit(normalize, center):
    def spread(cohort):
        return replace(cohort, num_examples=1.0 + np.array(cohort.client_ids, dtype=float))

    trajectories = []
    for rule in (
        FedMGDA(epsilon=0.0, normalize=normalize, center=center),
        FedAvg(normalize=normalize, center=center),
    ):
        federation = partial_federation(rule)
        federation = replace(federation, train_cohort=poisoned(federation.train_cohort, spread))
        trajectories.append([server.params for server in run(federation, START, 20)[0]])
    np.testing.assert_array_equal(*trajectories)


def test_afl_without_ascent_is_fedavg_with_iterate_averaging():
    everyone = {"sampler": UniformSampler(num_clients=6, per_round=6)}
    quadratics = Quadratics(ANCHORS, client_lr=0.3)
    ours, _ = run(quadratics.federation(AFL(gamma_lambda=0.0), **everyone), START, 15)
    theirs, _ = run(quadratics.federation(FedAvg(), **everyone), START, 15)
    np.testing.assert_allclose(ours[-1].params, theirs[-1].params, atol=1e-12)
    mean = np.mean([server.params for server in theirs[1:]], axis=0)
    np.testing.assert_allclose(ours[-1].model, mean, atol=1e-12)


@pytest.mark.parametrize("average", [True, False])
def test_the_rule_says_whether_iterates_are_averaged(average):
    federation = partial_federation(AFL(average_iterates=average))
    states, _ = run(federation, START, 3)
    last = np.mean([server.params for server in states[1:]], axis=0) if average else None
    expected = states[-1].params if last is None else last
    np.testing.assert_allclose(states[-1].model, expected, atol=1e-12)


def test_a_rule_that_needs_rows_gets_them_and_is_refused_where_there_are_none(tmp_path):
    @dataclass(frozen=True)
    class Median(Rule):
        needs_rows: ClassVar[bool] = True

        def weigh(self, cohort, state, _round_num):
            lam = np.full(len(cohort.client_ids), 1 / len(cohort.client_ids))
            median = np.median(cohort.updates.rows, axis=0)
            return Weighing(weights=lam, lam=lam, direction=median), state

    def filed(cohort):
        rows = cohort.updates.rows
        return replace(cohort, updates=FileUpdates.write(tmp_path / "rows", rows, rows.shape[1]))

    federation = partial_federation(Median())
    server, record = run_round(federation, initial_state(federation, START))
    median = np.median(record.cohort.updates.rows, axis=0)
    np.testing.assert_array_equal(record.aggregate.direction, median)
    np.testing.assert_array_equal(server.params, START - median)
    federation = replace(federation, train_cohort=poisoned(federation.train_cohort, filed))
    with pytest.raises(SpecError, match="Median needs the updates themselves"):
        run_round(federation, initial_state(federation, START))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, "must return a Weighing and a state"),
        ((1, {}), "must return a Weighing and a state"),
        ((Weighing(weights=np.ones(3), lam=np.ones(3)), {"seen": 0}), "a dict of arrays"),
        ((Weighing(weights=np.ones(3), lam=np.ones(3)), {7: np.ones(1)}), "a dict of arrays"),
        ((Weighing(weights=np.ones(2), lam=np.ones(3)), {}), "raised ValueError: A rule must give"),
        (SystemExit(0), "raised SystemExit: 0 in round 1"),
        (KeyError("x"), "raised KeyError: 'x' in round 1"),
    ],
)
def test_an_answer_that_is_none_is_refused_in_one_sentence(answer, sentence):
    class Own(Rule):
        def weigh(self, _cohort, _state, _round_num):
            if isinstance(answer, BaseException):
                raise answer
            return answer

    federation = partial_federation(Own())
    with pytest.raises(SpecError, match=sentence):
        run_round(federation, initial_state(federation, START))


def test_nobody_out_there_can_write_to_the_servers_model():
    def grab(params, client_ids, round_num):
        cohort = honest.train_cohort(params, client_ids, round_num)
        params[:] = 0.0
        return cohort

    honest = partial_federation(FedAvg())
    server, _ = run_round(replace(honest, train_cohort=grab), initial_state(honest, START))
    expected, _ = run_round(honest, initial_state(honest, START))
    np.testing.assert_array_equal(server.params, expected.params)


@every_rule
def test_updates_in_a_file_give_the_same_bits_as_updates_in_memory(rule, tmp_path):
    def filed(cohort):
        rows, path = cohort.updates.rows, tmp_path / f"rows-{next(numbers)}"
        return replace(cohort, updates=FileUpdates.write(path, rows, rows.shape[1]))

    numbers = count()
    dense = partial_federation(rule)
    on_disk = replace(dense, train_cohort=poisoned(dense.train_cohort, filed))
    for one, other in zip(run(dense, START, 5)[0], run(on_disk, START, 5)[0], strict=True):
        np.testing.assert_array_equal(one.params, other.params)


@every_rule
@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf])
def test_one_client_with_junk_never_reaches_the_model(rule, junk):
    def spoil(cohort):
        updates = cohort.updates.rows.copy()
        updates[1, 2] = junk
        return replace(cohort, updates=updates)

    honest = partial_federation(rule)
    attacked = replace(honest, train_cohort=poisoned(honest.train_cohort, spoil))
    server, record = run_round(attacked, initial_state(attacked, START))
    assert np.isfinite(server.params).all()
    assert [failure.client_id for failure in record.quarantined] == [record.sampled[1]]
    assert record.failed is None
    assert len(record.cohort.client_ids) == 2


@every_rule
def test_when_all_fail_the_model_stays_and_the_round_is_marked(rule):
    def spoil(cohort):
        return replace(cohort, updates=np.full_like(cohort.updates.rows, np.nan))

    federation = partial_federation(rule)
    federation = replace(federation, train_cohort=poisoned(federation.train_cohort, spoil))
    server, record = run_round(federation, initial_state(federation, START))
    np.testing.assert_array_equal(server.params, START)
    assert (server.round_num, server.failed_rounds) == (1, 1)
    assert record.failed == "no client returned a usable update"
    assert record.aggregate is None
    assert len(record.quarantined) == 3


def test_too_many_failed_rounds_in_a_row_stop_the_run():
    def nobody(params, client_ids, round_num):
        failures = tuple(Failure(client_id=i, reason="out of battery") for i in client_ids)
        return Cohort(
            client_ids=(),
            updates=np.empty((0, len(params))),
            num_examples=np.empty(0),
            losses=np.empty(0),
            failures=failures,
        )

    federation = replace(partial_federation(FedAvg()), train_cohort=nobody, max_failed_rounds=3)
    rounds = simulate(federation, initial_state(federation, START))
    seen = [next(rounds) for _ in range(3)]
    assert [server.failed_rounds for server, _ in seen] == [1, 2, 3]
    assert {record.quarantined[0].reason for _, record in seen} == {"out of battery"}
    with pytest.raises(FederationStalledError, match="No usable update in 3 rounds in a row"):
        next(rounds)
    names = [f"site-{letter}" for letter in "abcdefghijkl"][: federation.num_clients]
    named = replace(federation, client_names=names)
    with pytest.raises(FederationStalledError, match=r"\(client site-[a-l]: out of battery\)"):
        list(simulate(named, initial_state(named, START)))


def test_one_good_round_forgives_the_failed_ones():
    def sometimes(cohort):
        return replace(cohort, losses=cohort.losses * np.nan) if next(coin) else cohort

    coin = iter([True, True, False, True, True, False])
    federation = partial_federation(FedAvg(), max_failed_rounds=3)
    federation = replace(federation, train_cohort=poisoned(federation.train_cohort, sometimes))
    states, _ = run(federation, START, 6)
    assert [server.failed_rounds for server in states] == [0, 1, 2, 0, 1, 2, 0]


def test_a_step_out_of_range_keeps_the_model():
    def spoil(cohort):
        return replace(cohort, updates=np.full_like(cohort.updates.rows, 3e38))

    quadratics = Quadratics(ANCHORS.astype(np.float32), client_lr=0.3)
    federation = quadratics.federation(FedAvg(), schedule=Constant(server_lr=100.0))
    federation = replace(federation, train_cohort=poisoned(quadratics.train_cohort, spoil))
    start = START.astype(np.float32)
    server, record = run_round(federation, initial_state(federation, start))
    np.testing.assert_array_equal(server.params, start)
    assert record.failed == "the step left the range of the model's numbers"


@every_rule
def test_buffers_are_averaged_with_the_center_and_enter_no_norm(rule):
    quadratics = Quadratics(ANCHORS, client_lr=0.3)

    def with_buffers(params, client_ids, round_num):
        cohort = quadratics.train_cohort(params[:4], client_ids, round_num)
        buffers = 1e6 * np.array(client_ids, dtype=float)[:, None] + np.zeros((1, 2))
        return replace(cohort, buffers=params[4:] - buffers)

    plain = quadratics.federation(rule)
    extended = replace(plain, train_cohort=with_buffers, num_buffers=2)
    server, record = run_round(extended, initial_state(extended, np.append(START, [1.0, 1.0])))
    expected, reference = run_round(plain, initial_state(plain, START))
    np.testing.assert_array_equal(server.params[:4], expected.params)
    np.testing.assert_allclose(server.params[4:], 1e6 * 2.5)
    np.testing.assert_array_equal(record.aggregate.lam, reference.aggregate.lam)


@given(st.integers(0, 2**32), st.integers(1, 50))
def test_the_sampled_clients_depend_on_seed_and_round_alone(seed, round_num):
    federation = replace(partial_federation(FedAvg()), seed=seed)
    server = replace(initial_state(federation, START), round_num=round_num - 1)
    first = run_round(federation, server)[1].sampled
    moved = replace(server, params=server.params + 1.0)
    assert run_round(federation, moved)[1].sampled == first
    assert len(set(first)) == 3
