from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from torch import nn

from fedmgda._errors import SpecError
from fedmgda.clients import ClientPool, LocalTraining
from fedmgda.data import Pixels
from fedmgda.models import mlp
from unit.clients import _toys
from unit.clients._toys import SIZES, dropout, everything, federation, small

ALL = tuple(range(len(SIZES)))


def pool(**changes: Any) -> ClientPool:
    return _toys.pool(**({"path": "auto"} | changes))


def images():
    """The clients of the toys with byte images of three channels."""
    data = federation()
    rng = np.random.default_rng(2)
    features = rng.integers(256, size=(len(data.targets), 3, 8, 8)).astype(np.uint8)
    return replace(data, features=features, pixels=Pixels(mean=0.4, std=0.3))


def filters() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 5, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(45, 3)
    )


def test_small_models_take_the_compiled_path_and_others_torch() -> None:
    with pool() as clients:
        assert clients.path == "compiled"
    with pool(build_model=everything) as clients:
        assert clients.path == "torch"
    with pool(path="torch") as clients:
        assert clients.path == "torch"


def test_a_path_that_is_asked_for_is_taken_or_refused() -> None:
    with pytest.raises(SpecError, match=r'clients\.path = "compiled" does not know'):
        pool(build_model=everything, path="compiled")
    with pytest.raises(ValueError, match=r'path must be "auto", "torch" or "compiled"'):
        pool(path="fast")


@pytest.mark.parametrize("batch_size", [4, None])
@pytest.mark.parametrize("which", ["numbers", "images", "regression"])
def test_both_paths_take_the_same_batches_to_the_same_update(which: str, batch_size) -> None:
    data = {"numbers": federation(), "images": images(), "regression": federation(num_classes=None)}
    model = {
        "numbers": small,
        "images": filters,
        "regression": lambda: nn.Sequential(nn.Linear(5, 1)),
    }
    training = LocalTraining(
        local_epochs=2, batch_size=batch_size, client_lr=0.02, momentum=0.5, mu=0.1
    )
    cohorts, gradients, tests = [], [], []
    for path in ("torch", "compiled"):
        with pool(
            data=data[which], build_model=model[which], training=training, path=path
        ) as clients:
            params = clients.initial_params()
            cohorts.append(clients.train_cohort(params, ALL, 2))
            gradients.append(clients.gradients(params, ALL).updates.rows)
            tests.append(clients.evaluate(params, ALL, "test"))
    torch_one, compiled = cohorts
    error = np.linalg.norm(torch_one.updates.rows - compiled.updates.rows, axis=1)
    assert (error <= 1e-5 * np.linalg.norm(torch_one.updates.rows, axis=1)).all()
    np.testing.assert_allclose(compiled.losses, torch_one.losses, rtol=1e-5)
    np.testing.assert_allclose(compiled.local_losses, torch_one.local_losses, rtol=1e-5)
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(tests[1].losses, tests[0].losses, rtol=1e-5)
    np.testing.assert_array_equal(tests[1].accuracies, tests[0].accuracies)


@pytest.mark.parametrize("workers", [2, 3])
def test_threads_change_no_bit(workers: int) -> None:
    results = []
    for number in (1, workers):
        with pool(build_model=dropout, workers=number) as clients:
            params = clients.initial_params()
            cohort = clients.train_cohort(params, ALL, 3)
            scores = clients.evaluate(params, ALL, "test")
            results.append((cohort.updates.rows.copy(), cohort.losses, scores.losses))
    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)


def test_the_loss_before_training_is_the_evaluated_one_to_the_bit() -> None:
    with pool(build_model=dropout) as clients:
        params = clients.initial_params()
        cohort = clients.train_cohort(params, ALL, 1)
        np.testing.assert_array_equal(cohort.losses, clients.evaluate(params, ALL, "train").losses)


def test_dropout_is_on_while_training_and_off_while_scoring() -> None:
    with pool(build_model=dropout) as clients:
        params = clients.initial_params()
        first = clients.train_cohort(params, ALL, 1).updates.rows.copy()
        second = clients.train_cohort(params, ALL, 2).updates.rows
        assert not np.allclose(first, second)
        scores = [clients.evaluate(params, ALL, "train").losses for _ in range(2)]
    np.testing.assert_array_equal(*scores)


def test_a_client_that_has_no_examples_fails_alone() -> None:
    data = federation()
    data = replace(data, train=(data.train[0][:0], *data.train[1:]))
    with pool(data=data) as clients:
        cohort = clients.train_cohort(clients.initial_params(), (0, 1), 1)
        empty = clients.evaluate(clients.initial_params(), (0,), "train")
    assert cohort.client_ids == (1,)
    assert [failure.client_id for failure in cohort.failures] == [0]
    assert np.isnan(empty.losses).all()


def test_large_data_is_read_in_place_with_the_same_result(monkeypatch) -> None:
    updates = []
    for limit in (2**26, 0):
        monkeypatch.setattr("fedmgda.clients._kernel_data._NEAR_BYTES", limit)
        with pool() as clients:
            updates.append(
                clients.train_cohort(clients.initial_params(), ALL, 1).updates.rows.copy()
            )
    np.testing.assert_array_equal(*updates)


def test_data_the_kernels_must_not_read_is_left_to_torch() -> None:
    data = federation()
    beyond, negative = data.targets.copy(), data.targets.copy()
    beyond[3], negative[3] = 3, -1
    bad = [
        replace(data, targets=beyond),
        replace(data, targets=negative),
        replace(data, targets=data.targets[:-1]),
        replace(data, features=data.features.astype(np.float64)),
        replace(data, features=np.asfortranarray(data.features)),
        replace(data, targets=data.targets.astype(np.float32), num_classes=None),
    ]
    for data in bad:
        with pool(data=data) as clients:
            assert clients.path == "torch"


def test_rows_that_do_not_exist_are_a_failure_and_never_read() -> None:
    data = federation()
    for row in (-1, len(data.targets)):
        train = (np.append(data.train[0], row), *data.train[1:])
        with pool(data=replace(data, train=train)) as clients:
            cohort = clients.train_cohort(clients.initial_params(), ALL, 1)
        assert [failure.client_id for failure in cohort.failures] == [0]
        assert "rows must lie in" in cohort.failures[0].reason


@pytest.mark.parametrize("workers", [1, 2])
def test_a_client_that_cannot_be_evaluated_leaves_the_others_alone(workers: int) -> None:
    data = federation()
    beyond = np.append(data.test[3], len(data.targets))
    broken = replace(data, test=(*data.test[:3], beyond, *data.test[4:]))
    with pool(data=broken, workers=workers) as clients, pool(data=data) as whole:
        params = clients.initial_params()
        models = np.stack([params, params * np.float32(0.5)])
        # So many that one call scores several of them.
        found, expected = (each.evaluate(models, ALL * 8, "test") for each in (clients, whole))
    others = [i for i in range(48) if i % 6 != 3]
    np.testing.assert_array_equal(found.losses[:, others], expected.losses[:, others])
    assert np.isnan(found.losses[:, 3]).all()
    assert [failure.client_id for failure in found.failures] == [3]
    assert "rows must lie in" in found.failures[0].reason


def test_wide_layers_and_large_batches_are_left_to_torch() -> None:
    wide = partial(mlp, (5, 4096, 1024, 3))
    with pool(build_model=wide, training=LocalTraining(batch_size=None)) as clients:
        assert clients.path == "torch"
