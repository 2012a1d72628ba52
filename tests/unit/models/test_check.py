from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from fedmgda._errors import SpecError
from fedmgda.models import check_model, fmnist_cnn, linear
from unit.models._paper import CASES, Case


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_model_that_fits_is_accepted(case: Case) -> None:
    num_classes = None if case.num_outputs == 1 else case.num_outputs
    check_model(case.build, case.features(2), num_classes)


@pytest.mark.parametrize("layer", [nn.Identity(), nn.Flatten(0)])
def test_a_regression_may_return_a_column_or_a_vector(layer: nn.Module) -> None:
    check_model(lambda: nn.Sequential(linear(3, 1), layer), torch.zeros(2, 3), None)


def test_more_scores_than_classes_are_accepted() -> None:
    check_model(partial(linear, 3, 62), torch.zeros(2, 3), 10)


def fail() -> nn.Module:
    raise LookupError("no\nsuch layer.")


@pytest.mark.parametrize(
    ("build", "num_classes", "sentence"),
    [
        (fail, 2, "model.name cannot be built: LookupError: no such layer."),
        (dict, 2, "model.name must be a torch.nn.Module, got an object of type dict."),
        (partial(linear, 3, 1), 2, "model.name must return scores of shape (2, 2) for 2 examples"),
        (partial(nn.Flatten, 0), 2, "of 2 classes, got shape (6,)."),
        (partial(linear, 3, 2), None, "one number for each example, got shape (2, 2)."),
        (
            partial(nn.LSTM, 3, 2),
            2,
            "model.name must return a tensor, got an object of type tuple.",
        ),
        (fmnist_cnn, 2, "model.name cannot take examples of shape (3,) (float32): RuntimeError: "),
    ],
)
def test_a_model_that_does_not_fit_is_refused_in_a_sentence(
    build: Any, num_classes: int | None, sentence: str
) -> None:
    with pytest.raises(SpecError) as caught:
        check_model(build, torch.zeros(2, 3), num_classes, "model.name")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_looking_at_a_model_leaves_the_generator_alone() -> None:
    before = torch.get_rng_state()
    check_model(partial(linear, 3, 2), torch.zeros(2, 3), 2)
    assert torch.equal(before, torch.get_rng_state())
