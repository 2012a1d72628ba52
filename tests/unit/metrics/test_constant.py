from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.metrics import constant_losses


def known(targets: object) -> SimpleNamespace:
    return SimpleNamespace(targets=targets)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=8))
def test_the_shares_are_a_distribution_without_a_zero(counts: list[int]) -> None:
    shares = np.exp(-constant_losses(known(np.arange(len(counts))), counts))
    assert (shares > 0).all()
    assert shares.sum() == pytest.approx(1)
    assert (np.argsort(counts, kind="stable") == np.argsort(shares, kind="stable")).all()


@given(st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=20))
def test_the_mean_of_the_training_targets_loses_their_variance_on_them(values: list[float]) -> None:
    targets = np.array(values, np.float64)
    sums = [len(targets), targets.sum(), (targets**2).sum()]
    assert constant_losses(known(targets), sums).mean() == pytest.approx(
        targets.var(), abs=1e-9, rel=1e-9
    )


def test_no_examples_have_no_losses() -> None:
    assert constant_losses(known(np.empty(0, np.int64)), [3, 4]).shape == (0,)


@pytest.mark.parametrize(
    ("targets", "sums"),
    [
        (np.array([2]), [1, 1]),
        (np.array([0]), [[1, 1]]),
        (np.array([0.5]), [1, 1]),
        (np.array([0.5]), [0, 0, 0]),
    ],
)
def test_sums_of_something_else_are_refused(targets: object, sums: object) -> None:
    with pytest.raises(ValueError, match=r"target_sums of .* must"):
        constant_losses(known(targets), sums)
