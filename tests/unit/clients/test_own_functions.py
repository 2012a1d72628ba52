from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from fedmgda._errors import SpecError
from fedmgda.clients import LocalTraining, check_own_functions, train_client
from fedmgda.models import linear
from unit.clients._toys import SIZES, convolutions, everything, federation, pictures, pool, small

ALL = tuple(range(len(SIZES)))
linear_regression = partial(linear, 5, 1)


def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(outputs, targets, reduction="none")


def huber(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.huber_loss(outputs[:, 0], targets, reduction="none")


def one_against_others(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A loss of one output for classes: no class scores."""
    return functional.binary_cross_entropy_with_logits(
        outputs[:, 0], (targets == 1).float(), reduction="none"
    )


def sgd(parameters: Any, client_lr: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, client_lr)


def heavy(parameters: Any, client_lr: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, client_lr, momentum=0.9)


def adam(parameters: Any, client_lr: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, client_lr)


def numbers(**training: Any) -> Any:
    options = {"local_epochs": 2, "batch_size": 4, "client_lr": 0.05} | training
    return LocalTraining(**options)


@pytest.mark.parametrize("build", [small, everything, convolutions])
@pytest.mark.parametrize("ours", [{}, {"momentum": 0.9}, {"mu": 0.5}])
def test_torchs_sgd_as_an_optimizer_is_ours(build: Any, ours: dict[str, float]) -> None:
    data = pictures() if build is convolutions else federation()
    make = heavy if "momentum" in ours else sgd
    mine = {"mu": ours.get("mu", 0.0), "optimizer": make}
    cohorts = []
    for training in (numbers(**ours), numbers(**mine)):
        with pool(data=data, build_model=build, training=training) as clients:
            cohorts.append(clients.train_cohort(clients.initial_params(), ALL, 2))
    expected, found = cohorts
    np.testing.assert_allclose(found.updates.rows, expected.updates.rows, atol=1e-6)
    np.testing.assert_array_equal(found.losses, expected.losses)


def test_cross_entropy_as_a_loss_is_ours() -> None:
    results = []
    for loss in (None, cross_entropy):
        with pool(training=numbers(loss=loss)) as clients:
            params = clients.initial_params()
            cohort = clients.train_cohort(params, ALL, 1, gradients=True)
            scores = [clients.evaluate(params, ALL, split) for split in ("train", "test")]
            results.append(
                [cohort.updates.rows, cohort.losses, cohort.gradients.rows]
                + [array for each in scores for array in (each.losses, each.accuracies)]
            )
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-7)


def test_a_loss_of_ones_own_is_trained_on_reported_and_evaluated() -> None:
    data = federation(num_classes=None)
    training = numbers(loss=huber, local_epochs=30)
    with pool(data=data, build_model=linear_regression, training=training) as clients:
        params = clients.initial_params()
        cohort = clients.train_cohort(params, ALL, 1)
        before = clients.evaluate(params, ALL, "train")
        after = clients.evaluate(params - cohort.updates.rows[3], (3,), "train")
        gradients = clients.gradients(params, ALL)
        told = clients.evaluate(params, ALL, "test", predictions=True)
    np.testing.assert_array_equal(cohort.losses, before.losses)
    np.testing.assert_array_equal(gradients.losses, before.losses)
    assert after.losses[0] < 0.1 * before.losses[3]
    assert np.isnan(before.accuracies).all()
    outputs, targets = torch.from_numpy(told.predictions.outputs), told.predictions.targets
    losses = huber(outputs, torch.from_numpy(targets)).numpy()
    means = [losses[told.predictions.clients == i].mean() for i in ALL]
    np.testing.assert_allclose(means, told.losses, rtol=1e-5)


@pytest.mark.parametrize("split", ["train", "test"])
def test_outputs_that_are_no_class_scores_have_no_accuracy(split: Any) -> None:
    with pool(build_model=linear_regression, training=numbers(loss=one_against_others)) as clients:
        found = clients.evaluate(clients.initial_params(), ALL, split)
    assert np.isfinite(found.losses).all()
    assert np.isnan(found.accuracies).all()


def test_an_optimizer_starts_anew_in_every_round_and_in_every_process() -> None:
    training = numbers(optimizer=adam, loss=cross_entropy)
    results = []
    for workers in (1, 2):
        with pool(training=training, workers=workers, build_model=everything) as clients:
            params = clients.initial_params()
            first, again = (clients.train_cohort(params, ALL, 1) for _ in range(2))
            np.testing.assert_array_equal(first.updates.rows, again.updates.rows)
            results.append(first)
    np.testing.assert_array_equal(results[0].updates.rows, results[1].updates.rows)
    data, mine = federation(), federation().train[4]
    alone = train_client(
        params, data.features[mine], data.targets[mine], build_model=everything,
        training=training, seed=5, round_num=1, client_id=4,
    )  # fmt: skip
    np.testing.assert_array_equal(alone.updates.rows[0], results[0].updates.rows[4])


def test_parameters_that_do_not_learn_are_not_the_optimizers() -> None:
    def frozen() -> nn.Module:
        module = small()
        next(module.parameters()).requires_grad_(False)
        return module

    def decaying(parameters: Any, client_lr: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, client_lr, weight_decay=0.5)

    with pool(build_model=frozen, training=numbers(optimizer=decaying)) as clients:
        rows = clients.train_cohort(clients.initial_params(), ALL, 1).updates.rows
    assert not rows[:, :40].any()
    assert rows[:, 40:].any()


@pytest.mark.parametrize(("own", "name"), [({"loss": huber}, "loss"), ({"optimizer": adam}, "opt")])
def test_functions_of_ones_own_take_the_torch_path(own: Any, name: str) -> None:
    data = federation(num_classes=None)
    options = {"data": data, "build_model": linear_regression, "training": numbers(**own)}
    with pool(**options, path="auto") as clients:
        assert clients.path == "torch"
    with pytest.raises(
        SpecError, match=rf'^clients\.path = "compiled" cannot call a clients\.{name}'
    ):
        pool(**options, path="compiled")


@pytest.mark.parametrize("name", ["loss", "optimizer"])
def test_a_function_that_cannot_travel_is_refused_at_once(name: str) -> None:
    training = numbers(**{name: lambda *_: None})
    with pytest.raises(ValueError, match=rf"^{name} cannot be sent to worker processes"):
        pool(training=training, workers=2)


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"loss": functional.cross_entropy}, "4 examples must have shape (4,), got (); do not"),
        ({"loss": lambda *_: 1.0}, "the loss must be a tensor, got float"),
        ({"optimizer": lambda *_: "adam"}, "must be a torch.optim.Optimizer, got str"),
    ],
)
def test_a_function_that_returns_something_else_fails_with_a_reason(own: Any, reason: str) -> None:
    training = LocalTraining(batch_size=4, **own)
    with pool(training=training, reported_loss="during") as clients:
        failures = clients.train_cohort(clients.initial_params(), ALL, 1).failures
    assert [failure.client_id for failure in failures] == list(ALL)
    assert reason in failures[0].reason
    with pytest.raises(SpecError, match=r"^clients\.(loss|optimizer) cannot be used: "):
        check_own_functions(training, torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64))


def test_functions_that_fit_pass_the_check() -> None:
    training = numbers(loss=cross_entropy, optimizer=adam)
    check_own_functions(training, torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64))
    check_own_functions(numbers(), torch.zeros(4, 3), torch.zeros(4))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": 3}, "loss must be a function or None, got 3."),
        ({"optimizer": "adam"}, "optimizer must be a function or None, got 'adam'."),
        ({"optimizer": adam, "momentum": 0.5}, "momentum = 0.5 would not reach your optimizer; "),
    ],
)
def test_what_does_not_go_together_is_refused(options: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        LocalTraining(**options)
