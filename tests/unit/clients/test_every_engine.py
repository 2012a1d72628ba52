"""Laws that hold whoever does the work: this process, its threads, or worker processes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

from fedmgda.clients import LocalTraining
from fedmgda.models import initial_vector, linear
from fedmgda.values import DenseUpdates
from unit.clients._toys import SIZES, everything, federation, pool, small

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.clients import ClientPool

ALL = tuple(range(len(SIZES)))
ENGINES: dict[str, dict[str, Any]] = {
    "serial": {"path": "torch"},
    "processes": {"path": "torch", "workers": 2},
    "threads": {"path": "compiled", "workers": 2},
}
FACTORS = {2: 10.0}


@pytest.fixture(scope="module", params=ENGINES)
def clients(request: pytest.FixtureRequest) -> Iterator[ClientPool]:
    with pool(loss_factors=FACTORS, **ENGINES[request.param]) as found:
        yield found


@pytest.fixture
def params() -> np.ndarray:
    return initial_vector(small, 5)


def test_gradients_in_the_same_exchange_change_no_other_number(
    clients: ClientPool, params: np.ndarray
) -> None:
    plain = clients.train_cohort(params, ALL, 3)
    both = clients.train_cohort(params, ALL, 3, gradients=True)
    np.testing.assert_array_equal(both.updates.rows, plain.updates.rows)
    np.testing.assert_array_equal(both.losses, plain.losses)
    np.testing.assert_array_equal(both.local_losses, plain.local_losses)
    assert plain.gradients is None
    assert plain.before is None


def test_gradients_in_the_same_exchange_are_those_of_a_call_of_their_own(
    clients: ClientPool, params: np.ndarray
) -> None:
    both = clients.train_cohort(params, ALL[::-1], 3, gradients=True)
    alone = clients.gradients(params, ALL[::-1])
    assert isinstance(both.gradients, DenseUpdates)
    np.testing.assert_array_equal(both.gradients.rows, alone.updates.rows)
    assert alone.client_ids == ALL[::-1]
    assert alone.num_examples.tolist() == list(SIZES[::-1])
    assert alone.local_losses is None


def test_the_loss_before_is_to_the_bit_that_of_an_evaluation_and_truthful(
    clients: ClientPool, params: np.ndarray
) -> None:
    both = clients.train_cohort(params, ALL, 3, gradients=True)
    truth = clients.evaluate(params, ALL, "train").losses
    np.testing.assert_array_equal(both.before, truth)
    np.testing.assert_array_equal(both.losses, truth * [FACTORS.get(i, 1.0) for i in ALL])
    np.testing.assert_array_equal(clients.gradients(params, ALL).losses, truth)


def test_a_known_loss_is_the_loss_before(clients: ClientPool, params: np.ndarray) -> None:
    truth = clients.evaluate(params, ALL, "train").losses
    known = {i: truth[i] for i in (0, 2, 5)}
    both = clients.train_cohort(params, ALL, 3, gradients=True, known=known)
    np.testing.assert_array_equal(both.before, truth)


def test_several_models_are_evaluated_as_one_by_one(
    clients: ClientPool, params: np.ndarray
) -> None:
    models = np.stack([params, params * np.float32(0.5), params + np.float32(0.1)])
    for split in ("train", "test", "validation"):
        together = clients.evaluate(models, (4, 1), split)
        assert together.losses.shape == together.accuracies.shape == (3, 2)
        for row, model in enumerate(models):
            alone = clients.evaluate(model, (4, 1), split)
            assert alone.losses.shape == (2,)
            np.testing.assert_array_equal(together.losses[row], alone.losses)
            np.testing.assert_array_equal(together.accuracies[row], alone.accuracies)


def test_no_later_call_writes_to_what_was_returned(clients: ClientPool, params: np.ndarray) -> None:
    first = clients.train_cohort(params, ALL, 1, gradients=True)
    gradients = clients.gradients(params, ALL)
    kept = [first.updates.rows, first.gradients.rows, first.losses, gradients.updates.rows]
    copies = [array.copy() for array in kept]
    clients.train_cohort(params + 1, ALL, 2, gradients=True)
    clients.gradients(params + 1, ALL)
    clients.evaluate(params, ALL, "train")
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_predictions_are_what_the_module_gives(clients: ClientPool, params: np.ndarray) -> None:
    data = federation()
    found = clients.evaluate(params, (3, 0), "test", predictions=True)
    told = found.predictions
    assert told is not None
    np.testing.assert_array_equal(told.rows, np.concatenate([data.test[3], data.test[0]]))
    np.testing.assert_array_equal(told.clients, np.repeat([3, 0], [30, 12]))
    np.testing.assert_array_equal(told.targets, data.targets[told.rows])
    assert told.outputs.dtype == np.float32
    module = small()
    nn.utils.vector_to_parameters(torch.from_numpy(params), module.parameters())
    expected = module(torch.from_numpy(data.features[told.rows])).detach().numpy()
    np.testing.assert_allclose(told.outputs, expected, atol=1e-6)
    right = told.outputs.argmax(1) == told.targets
    assert [right[told.clients == i].mean() for i in (3, 0)] == found.accuracies.tolist()
    assert clients.evaluate(params, ALL, "test").predictions is None


def test_nobody_is_predicted_evaluated_and_differentiated_too(
    clients: ClientPool, params: np.ndarray
) -> None:
    found = clients.evaluate(params, (), "test", predictions=True)
    assert found.losses.shape == (0,)
    assert len(found.predictions.rows) == len(found.predictions.outputs) == 0
    assert clients.evaluate(np.stack([params] * 2), (), "train").losses.shape == (2, 0)
    assert clients.gradients(params, ()).updates.rows.shape == (0, len(params))


def test_predictions_of_several_models_are_refused(clients: ClientPool, params: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"^predictions are of one model, got params of shape"):
        clients.evaluate(np.stack([params] * 2), ALL, "test", predictions=True)


def test_only_one_model_can_be_trained(clients: ClientPool, params: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"^params must have shape \(75,\), got \(1, 75\)"):
        clients.train_cohort(params[None], ALL, 1)


def test_a_regression_predicts_one_number_for_each_example() -> None:
    with pool(data=federation(num_classes=None), build_model=regressor) as clients:
        found = clients.evaluate(clients.initial_params(), (1, 2), "test", predictions=True)
    outputs, targets = found.predictions.outputs, found.predictions.targets
    assert outputs.shape == (33, 1)
    squares = (outputs[:, 0] - targets) ** 2
    owners = found.predictions.clients
    means = [squares[owners == i].mean() for i in (1, 2)]
    np.testing.assert_allclose(means, found.losses, rtol=1e-5)


def regressor() -> nn.Module:
    return linear(5, 1)


@pytest.mark.parametrize("reported", ["before", "during"])
def test_buffers_and_reported_losses_are_untouched_by_a_gradient(reported: str) -> None:
    with pool(build_model=everything, reported_loss=reported) as clients:
        params = clients.initial_params()
        plain = clients.train_cohort(params, ALL, 1)
        both = clients.train_cohort(params, ALL, 1, gradients=True)
        truth = clients.evaluate(params, ALL, "train").losses
    np.testing.assert_array_equal(both.buffers, plain.buffers)
    np.testing.assert_array_equal(both.losses, plain.losses)
    np.testing.assert_array_equal(both.before, truth)
    assert both.gradients.num_columns == both.updates.num_columns == clients.num_params


def test_a_pool_tells_sizes_rows_and_a_fingerprint() -> None:
    data = replace(federation(), client_names=tuple("abcdef"))
    with pool(data=data) as clients:
        facts = clients.facts
        assert clients.facts is facts
        assert (clients.num_clients, clients.client_names) == (6, tuple("abcdef"))
    assert facts.num_classes == 3
    for split in ("train", "validation", "test"):
        assert facts.sizes[split].tolist() == [len(rows) for rows in data.split(split)]
        joined = np.concatenate([np.empty(0, np.int64), *data.split(split)])
        np.testing.assert_array_equal(facts.rows[split], joined)
    changed = replace(data, targets=data.targets[::-1].copy())
    with pool(data=changed) as others, pool(data=data, seed=9) as same:
        assert others.facts.fingerprint != facts.fingerprint == same.facts.fingerprint


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_full_batch_without_steps_back_moves_along_the_gradient(epochs: int) -> None:
    training = LocalTraining(batch_size=None, client_lr=1e-3, local_epochs=epochs)
    for options in ENGINES.values():
        with pool(training=training, **options) as clients:
            cohort = clients.train_cohort(clients.initial_params(), ALL, 1, gradients=True)
        steps = 1e-3 * epochs * cohort.gradients.rows
        np.testing.assert_allclose(cohort.updates.rows, steps, rtol=0.05, atol=1e-5)
