from __future__ import annotations

import math
from typing import Any

import pytest

from fedmgda.clients import LocalTraining


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("local_epochs", 0, "local_epochs must be at least 1, got 0."),
        ("batch_size", 0, "batch_size must be at least 1 or None, got 0."),
        ("client_lr", 0.0, "client_lr must be positive and finite, got 0.0."),
        ("client_lr", math.inf, "client_lr must be positive and finite, got inf."),
        ("client_lr", math.nan, "client_lr must be positive and finite, got nan."),
        ("momentum", 1.0, r"momentum must lie in \[0, 1\), got 1.0."),
        ("momentum", -0.1, r"momentum must lie in \[0, 1\), got -0.1."),
        ("mu", -1.0, "mu must be non-negative and finite, got -1.0."),
        ("mu", math.nan, "mu must be non-negative and finite, got nan."),
        ("prox_convention", "third", 'prox_convention must be "half" or "full", got \'third\'.'),
    ],
)
def test_a_value_out_of_range_is_refused_in_one_sentence(
    field: str, value: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        LocalTraining(**{field: value})


def test_the_full_convention_doubles_the_slope_of_the_half_one() -> None:
    assert LocalTraining(mu=0.3).prox_slope == 0.3
    assert LocalTraining(mu=0.3, prox_convention="full").prox_slope == 0.6


def test_the_defaults_are_those_of_the_papers_text() -> None:
    training = LocalTraining()
    assert (training.local_epochs, training.momentum, training.mu) == (1, 0.0, 0.0)
