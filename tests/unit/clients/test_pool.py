from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from fedmgda._errors import MissingDependencyError
from fedmgda.clients import LocalTraining
from fedmgda.federation import Federation, UniformSampler, initial_state, simulate
from fedmgda.models import initial_vector, linear
from fedmgda.rules import FedAvg
from unit.clients._toys import (
    SIZES,
    TwoWays,
    Viewing,
    complain,
    convolutions,
    dropout,
    everything,
    federation,
    pictures,
    pool,
    small,
    trapped,
)

ALL = tuple(range(len(SIZES)))


def test_the_initial_model_is_that_of_the_seed() -> None:
    with pool() as clients:
        np.testing.assert_array_equal(clients.initial_params(), initial_vector(small, 5))
        assert clients.initial_params().shape == (clients.num_params,)


def test_a_cohort_has_the_clients_in_the_order_asked() -> None:
    with pool() as clients:
        cohort = clients.train_cohort(clients.initial_params(), (4, 0, 3), 1)
    assert cohort.client_ids == (4, 0, 3)
    assert cohort.num_examples.tolist() == [10, 12, 30]
    assert cohort.updates.rows.shape == (3, clients.num_params)
    assert cohort.updates.rows.dtype == np.float32
    assert cohort.failures == ()


@settings(max_examples=15, deadline=None)
@given(st.permutations(ALL), st.integers(1, len(ALL)))
def test_company_and_order_change_nothing_for_a_client(order: list[int], size: int) -> None:
    with pool(build_model=everything) as clients:
        params = clients.initial_params()
        everyone = clients.train_cohort(params, ALL, 3)
        updates, losses = everyone.updates.rows.copy(), everyone.losses.copy()
        some = clients.train_cohort(params, order[:size], 3)
    np.testing.assert_array_equal(some.updates.rows, updates[order[:size]])
    np.testing.assert_array_equal(some.losses, losses[order[:size]])


@pytest.mark.parametrize("change", [{"seed": 6}, {"round_num": 2}])
def test_the_seed_and_the_round_each_decide_the_order_of_examples(change: dict[str, int]) -> None:
    round_num = change.pop("round_num", 1)
    params = initial_vector(small, 5)
    with pool() as first, pool(**change) as second:
        a, b = first.train_cohort(params, ALL, 1), second.train_cohort(params, ALL, round_num)
    assert (a.updates.rows != b.updates.rows).any(axis=1).all()
    np.testing.assert_array_equal(a.losses, b.losses)


def test_two_clients_with_the_same_examples_see_them_in_different_order() -> None:
    data = federation()
    twins = dataclasses.replace(data, train=(data.train[0], data.train[0], *data.train[2:]))
    with pool(data=twins) as clients:
        cohort = clients.train_cohort(clients.initial_params(), (0, 1), 1)
    assert not np.array_equal(cohort.updates.rows[0], cohort.updates.rows[1])


@pytest.mark.parametrize("build_model", [small, dropout, everything])
def test_the_reported_loss_is_to_the_bit_that_of_an_evaluation(build_model: Any) -> None:
    with pool(build_model=build_model) as clients:
        params = clients.initial_params()
        cohort = clients.train_cohort(params, ALL, 1)
        evaluation = clients.evaluate(params, ALL[::-1], "train")
    np.testing.assert_array_equal(cohort.losses, evaluation.losses[::-1])
    assert evaluation.num_examples.tolist() == list(SIZES[::-1])


@pytest.mark.parametrize("build_model", [convolutions, Viewing])
def test_images_are_trained_in_the_format_the_network_takes(build_model: Any) -> None:
    training = LocalTraining(batch_size=None, client_lr=1.0)
    with pool(data=pictures(), build_model=build_model, training=training) as clients:
        assert clients._settings.channels_last == (build_model is convolutions)
        params = clients.initial_params()
        gradients = clients.gradients(params, ALL).updates.rows
        reported = clients.train_cohort(params, ALL, 1)
        evaluated = clients.evaluate(params, ALL, "train")
    assert reported.failures == ()
    np.testing.assert_array_equal(reported.losses, evaluated.losses)
    module, data = build_model().eval(), pictures()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(params), module.parameters())
    for client, rows in enumerate(data.train):
        module.zero_grad()
        images, labels = torch.from_numpy(data.features[rows]), torch.from_numpy(data.targets[rows])
        torch.nn.functional.cross_entropy(module(images), labels).backward()
        expected = torch.cat([parameter.grad.flatten() for parameter in module.parameters()])
        np.testing.assert_allclose(gradients[client], expected.numpy(), atol=1e-6)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(MissingDependencyError, match=r"torch finds none; use \"cpu\"\.$"):
        pool(device="cuda")


def test_dropout_is_on_in_training_and_off_in_the_reported_loss() -> None:
    training = LocalTraining(batch_size=None)
    with pool(build_model=dropout, training=training) as clients:
        params = clients.initial_params()
        first = clients.train_cohort(params, ALL, 1)
        updates, losses = first.updates.rows.copy(), first.losses
        second = clients.train_cohort(params, ALL, 2)
    # A single full batch leaves dropout as the only thing a round can change.
    assert (updates != second.updates.rows).any(axis=1).all()
    np.testing.assert_array_equal(losses, second.losses)


def test_a_loss_reported_during_training_is_the_local_loss_and_changes_no_update() -> None:
    with (
        pool(build_model=everything) as usual,
        pool(build_model=everything, reported_loss="during", loss_factors={2: 3.0}) as quick,
    ):
        params = usual.initial_params()
        before, during = usual.train_cohort(params, ALL, 1), quick.train_cohort(params, ALL, 1)
    others = [i for i in ALL if i != 2]
    np.testing.assert_array_equal(during.updates.rows[others], before.updates.rows[others])
    np.testing.assert_array_equal(during.losses, during.local_losses)
    np.testing.assert_array_equal(during.local_losses[others], before.local_losses[others])
    assert (before.losses != before.local_losses).all()


def test_an_inflated_loss_is_inflated_in_both_reports() -> None:
    training = LocalTraining(batch_size=None)
    with (
        pool(training=training) as honest,
        pool(training=training, loss_factors={2: 100.0}) as attacked,
    ):
        params = honest.initial_params()
        truth, lie = honest.train_cohort(params, ALL, 1), attacked.train_cohort(params, ALL, 1)
    np.testing.assert_array_equal(lie.local_losses / truth.local_losses, [1, 1, 100, 1, 1, 1])
    # One step over everything: what is seen on the way is the model that was received.
    np.testing.assert_allclose(lie.local_losses, lie.losses, rtol=1e-5)


def test_a_client_that_reports_its_local_loss_passes_over_its_split_only_to_train() -> None:
    calls: list[bool] = []

    class Counted(torch.nn.Linear):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            calls.append(self.training)
            return super().forward(features)

    for how, passes in (("before", 1), ("during", 0)):
        with pool(build_model=lambda: Counted(5, 3), reported_loss=how) as clients:
            calls.clear()
            clients.train_cohort(clients.initial_params(), (0,), 1)
        assert calls.count(False) == passes
        assert calls.count(True) == 6  # two epochs of twelve examples by four


def test_batch_norm_statistics_travel_behind_the_parameters() -> None:
    training = LocalTraining(batch_size=None)
    with pool(build_model=everything, training=training) as clients:
        assert clients.num_buffers == 32
        params = clients.initial_params()
        params[-32:-16] = 0.25
        cohort = clients.train_cohort(params, (3,), 1)
        rows = federation().train[3]
        model = everything()
        torch.nn.utils.vector_to_parameters(torch.from_numpy(params[:-32]), model.parameters())
        mean = model[0](torch.from_numpy(federation().features[rows])).mean(0).detach().numpy()
    # PyTorch moves the running mean a tenth of the way to the mean of the batch.
    expected = 0.1 * (0.25 - mean)
    np.testing.assert_allclose(cohort.buffers[0, :16], expected, atol=1e-6)


def test_updates_point_like_gradients() -> None:
    with pool(training=LocalTraining(batch_size=None, client_lr=0.01)) as clients:
        params = clients.initial_params()
        cohort = clients.train_cohort(params, ALL, 1)
        gradients = clients.gradients(params, ALL).updates.rows
        after = clients.evaluate(params - 5 * cohort.updates.rows[2], (2,), "train")
    np.testing.assert_allclose(cohort.updates.rows, 0.01 * gradients, atol=1e-7)
    assert after.losses[0] < cohort.losses[2]


def test_gradients_leave_the_buffers_out_and_the_updates_untouched() -> None:
    with pool(build_model=everything) as clients:
        params = clients.initial_params()
        cohort = clients.train_cohort(params, ALL, 1)
        before = cohort.updates.rows.copy()
        assert clients.gradients(params, ALL).updates.rows.shape == (len(ALL), clients.num_params)
        clients.evaluate(params, ALL, "test")
    np.testing.assert_array_equal(cohort.updates.rows, before)


def test_the_loss_beside_a_gradient_is_that_of_an_evaluation_not_of_the_pass_that_derives() -> None:
    with pool(build_model=TwoWays, path="torch") as clients:
        params = clients.initial_params()
        before = clients.train_cohort(params, ALL, 1, gradients=True).before
        derived = clients.gradients(params, ALL).losses
        measured = clients.evaluate(params, ALL, "train").losses
    np.testing.assert_array_equal(before, measured)
    assert (derived != measured).any(), "else one pass could do for both"


def test_a_regression_is_trained_on_squared_errors() -> None:
    data = federation(num_classes=None)
    training = LocalTraining(local_epochs=60)
    with pool(data=data, build_model=linear_regression, training=training) as clients:
        params = clients.initial_params()
        before = clients.evaluate(params, ALL, "test")
        cohort = clients.train_cohort(params, ALL, 1)
        after = clients.evaluate(params - cohort.updates.rows.mean(axis=0), ALL, "test")
    assert (after.losses < 0.1 * before.losses).all()
    assert np.isnan(after.accuracies).all()


def linear_regression() -> torch.nn.Module:
    return linear(5, 1)


def test_an_empty_split_has_no_score() -> None:
    with pool() as clients:
        evaluation = clients.evaluate(clients.initial_params(), (1,), "validation")
    assert evaluation.num_examples.tolist() == [0]
    assert np.isnan(evaluation.losses).all()
    assert np.isnan(evaluation.accuracies).all()


def test_a_client_that_inflates_its_loss_lies_in_training_only() -> None:
    options: dict[str, Any] = {"training": LocalTraining(batch_size=None, client_lr=1e-3)}
    with pool(**options) as honest, pool(**options, loss_factors={2: 100.0}) as attacked:
        params = honest.initial_params()
        truth, lie = honest.train_cohort(params, ALL, 1), attacked.train_cohort(params, ALL, 1)
        evaluations = [clients.evaluate(params, ALL, "train") for clients in (honest, attacked)]
        gradients = [clients.gradients(params, ALL).updates.rows for clients in (honest, attacked)]
    others = [i for i in ALL if i != 2]
    np.testing.assert_array_equal(truth.updates.rows[others], lie.updates.rows[others])
    np.testing.assert_allclose(
        lie.updates.rows[2], 100 * truth.updates.rows[2], rtol=1e-2, atol=1e-5
    )
    np.testing.assert_array_equal(lie.losses / truth.losses, [1, 1, 100, 1, 1, 1])
    np.testing.assert_array_equal(evaluations[0].losses, evaluations[1].losses)
    np.testing.assert_array_equal(*gradients)


def test_a_client_that_raises_is_a_failure_and_the_others_go_on() -> None:
    data = federation(trigger=2)
    with pool(data=data, build_model=trapped(complain)) as clients, pool(data=data) as calm:
        params = clients.initial_params()
        cohort = clients.train_cohort(params, (0, 2, 4), 1)
        expected = calm.train_cohort(params, (0, 4), 1)
    assert cohort.client_ids == (0, 4)
    np.testing.assert_array_equal(cohort.updates.rows, expected.updates.rows)
    assert [failure.client_id for failure in cohort.failures] == [2]
    assert cohort.failures[0].reason == "its work raised ArithmeticError: too much"


def test_a_client_without_training_examples_is_a_failure() -> None:
    data = federation()
    empty = dataclasses.replace(data, train=(data.train[0][:0], *data.train[1:]))
    with pool(data=empty) as clients:
        cohort = clients.train_cohort(clients.initial_params(), (0,), 1)
    assert cohort.updates.rows.shape == (0, clients.num_params)
    assert cohort.failures[0].reason == "it has no training examples"


def test_a_client_that_cannot_be_evaluated_is_nan_with_the_reason() -> None:
    data = federation(trigger=2)
    with pool(data=data, build_model=trapped(complain)) as clients, pool(data=data) as calm:
        params = clients.initial_params()
        found, expected = (each.evaluate(params, ALL, "train") for each in (clients, calm))
        gradients = clients.gradients(params, ALL)
    assert [(failure.client_id, failure.reason) for failure in found.failures] == [
        (2, "its work raised ArithmeticError: too much")
    ]
    others = [i for i in ALL if i != 2]
    assert np.isnan([found.losses[2], found.accuracies[2]]).all()
    np.testing.assert_array_equal(found.losses[others], expected.losses[others])
    assert found.num_examples.tolist() == list(SIZES)
    assert gradients.client_ids == tuple(others)
    assert [failure.client_id for failure in gradients.failures] == [2]


def test_torchs_generator_and_threads_are_left_as_they_were() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    try:
        torch.set_num_threads(2)
        with pool(build_model=everything) as clients:
            params = clients.initial_params()
            clients.train_cohort(params, ALL, 1)
            clients.evaluate(params, ALL, "test")
            clients.gradients(params, ALL)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), state)
    finally:
        torch.set_num_threads(threads)


def test_the_received_model_is_not_written_to() -> None:
    with pool() as clients:
        params = clients.initial_params()
        params.flags.writeable = False
        clients.train_cohort(params, ALL, 1)
        np.testing.assert_array_equal(params, clients.initial_params())


def test_a_model_in_double_precision_is_rounded() -> None:
    with pool() as clients:
        params = clients.initial_params()
        expected = clients.evaluate(params, ALL, "train")
        actual = clients.evaluate(params.astype(np.float64), ALL, "train")
    np.testing.assert_array_equal(actual.losses, expected.losses)


def test_nobody_is_a_cohort_too() -> None:
    with pool() as clients:
        cohort = clients.train_cohort(clients.initial_params(), (), 1)
    assert cohort.client_ids == ()
    assert cohort.updates.rows.shape == (0, clients.num_params)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"workers": 0}, "workers must be at least 1, got 0."),
        ({"client_timeout": 0.0}, "client_timeout must be positive and finite, got 0.0."),
        ({"client_timeout": math.nan}, "client_timeout must be positive and finite, got nan."),
        (
            {"reported_loss": "after"},
            'reported_loss must be "before" or "during", got \'after\'.',
        ),
        ({"device": "abacus"}, 'device must be "cpu" or "cuda", got \'abacus\'.'),
        ({"loss_factors": {9: 2.0}}, "client ids must lie in 0..5, got 9."),
        ({"loss_factors": {1: math.inf}}, "loss_factors must be finite, got inf for client 1."),
    ],
)
def test_a_setting_out_of_range_is_refused_in_one_sentence(change: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        pool(**change)


@pytest.mark.parametrize("client_id", [-1, 6])
def test_an_unknown_client_is_refused(client_id: int) -> None:
    with pool() as clients, pytest.raises(ValueError, match=f"0..5, got {client_id}"):
        clients.train_cohort(clients.initial_params(), (0, client_id), 1)


def test_a_model_of_another_size_is_refused() -> None:
    with pool() as clients, pytest.raises(ValueError, match=r"must have shape \(75,\), got \(1,\)"):
        clients.evaluate(np.zeros(1, np.float32), ALL, "train")


@pytest.mark.parametrize("path", ["torch", "compiled"])
def test_a_loss_that_is_known_is_reported_as_it_is_told(path: str) -> None:
    with pool(path=path, loss_factors={1: 4.0}) as clients:
        params = clients.initial_params()
        measured = clients.train_cohort(params, ALL, 1)
        known = dict(enumerate(clients.evaluate(params, ALL, "train").losses))
        told = clients.train_cohort(params, ALL, 1, known=known)
        lied = clients.train_cohort(params, ALL, 1, known={1: 0.25, 4: 0.0})
    np.testing.assert_array_equal(told.losses, measured.losses)
    np.testing.assert_array_equal(told.updates.rows, measured.updates.rows)
    expected = measured.losses.copy()
    expected[[1, 4]] = 1.0, 0.0
    np.testing.assert_array_equal(lied.losses, expected)


def test_a_client_whose_loss_is_known_is_spared_the_pass() -> None:
    calls: list[bool] = []

    class Counted(torch.nn.Linear):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            calls.append(self.training)
            return super().forward(features)

    with pool(build_model=lambda: Counted(5, 3)) as clients:
        calls.clear()
        clients.train_cohort(clients.initial_params(), (0, 1), 1, known={0: 0.5})
    assert calls.count(False) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_records_kept_from_two_rounds_differ(workers: int) -> None:
    with pool(workers=workers, path="torch") as clients:
        sampler = UniformSampler(num_clients=clients.num_clients, per_round=3)
        rounds = Federation(
            train_cohort=clients.train_cohort,
            rule=FedAvg(),
            sampler=sampler,
            num_clients=clients.num_clients,
        )
        running = simulate(rounds, initial_state(rounds, clients.initial_params()))
        kept = [next(running)[1] for _ in range(2)]
        first = np.array(kept[0].cohort.updates)
        next(running)
    assert not np.array_equal(kept[0].cohort.updates, kept[1].cohort.updates)
    np.testing.assert_array_equal(kept[0].cohort.updates, first)
