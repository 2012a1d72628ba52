from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.metrics import improved_participants

losses = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


def test_values_checked_by_hand() -> None:
    assert improved_participants([1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 1.5, 2.0]) == 50.0


@given(losses, st.floats(0, 10))
def test_everybody_improves_if_no_loss_rises(before: list[float], drop: float) -> None:
    assert improved_participants(before, [loss - drop for loss in before]) == 100.0


@given(losses)
def test_nobody_improves_if_every_loss_rises(before: list[float]) -> None:
    assert improved_participants(before, np.nextafter(before, np.inf)) == 0.0


@given(losses, st.data())
def test_exchanging_the_rounds_exchanges_strict_winners_and_losers(
    before: list[float], data: st.DataObject
) -> None:
    after = data.draw(
        st.lists(st.floats(0, 1e6), min_size=len(before), max_size=len(before)), label="after"
    )
    ties = 100.0 * np.mean(np.equal(before, after))
    there, back = improved_participants(before, after), improved_participants(after, before)
    assert there + back == pytest.approx(100.0 + ties)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1.0, math.nan),
        (math.nan, 1.0),
        (math.nan, math.nan),
        (1.0, math.inf),
        (math.inf, math.inf),
    ],
)
def test_a_loss_that_is_no_number_is_no_improvement(before: float, after: float) -> None:
    assert improved_participants([before, 1.0], [after, 1.0]) == 50.0


def test_coming_back_from_an_infinite_loss_is_an_improvement() -> None:
    assert improved_participants([math.inf], [1e30]) == 100.0


def test_no_participants_have_no_percentage() -> None:
    assert math.isnan(improved_participants([], []))


@pytest.mark.parametrize(("before", "after"), [([1.0], [1.0, 2.0]), (1.0, 1.0), ([[1.0]], [[1.0]])])
def test_shapes_that_do_not_pair_participants_are_refused(before: object, after: object) -> None:
    with pytest.raises(ValueError, match=r"same shape \(m,\), got"):
        improved_participants(before, after)
