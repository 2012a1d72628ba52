from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.metrics import smoothed

points = st.floats(-1e6, 1e6, allow_subnormal=False)
gaps = st.just(math.nan)
curves = st.lists(st.one_of(points, gaps), min_size=1, max_size=40)
spans = st.floats(1, 60)


def by_definition(curve: list[float], span: float) -> list[float]:
    keep, result = 1 - 2 / (span + 1), []
    for t in range(len(curve)):
        past = [(keep ** (t - s), curve[s]) for s in range(t + 1) if not math.isnan(curve[s])]
        total = math.fsum(weight for weight, _ in past)
        # Far beyond a gap all weights may vanish; the last number is then what is left.
        mean = math.fsum(weight * point for weight, point in past) / total if total else None
        result.append((past[-1][1] if past else math.nan) if mean is None else mean)
    return result


def test_values_printed_in_the_documentation_of_pandas_are_reproduced() -> None:
    # DataFrame({"B": [0, 1, 2, nan, 4]}).ewm(com=0.5).mean(); a centre of mass of 0.5 is span 2.
    expected = [0.0, 0.75, 1.615385, 1.615385, 3.670213]
    assert smoothed([0, 1, 2, math.nan, 4], 2).round(6).tolist() == expected


@given(curves, st.floats(1.5, 60))
def test_the_running_form_is_the_weighted_mean(curve: list[float], span: float) -> None:
    np.testing.assert_allclose(
        smoothed(curve, span), by_definition(curve, span), rtol=1e-9, atol=1e-6
    )


@given(curves, spans)
def test_the_result_stays_between_the_extremes_seen_so_far(curve: list[float], span: float) -> None:
    result = smoothed(curve, span)
    for t in range(len(curve)):
        seen = [point for point in curve[: t + 1] if not math.isnan(point)]
        assert math.isnan(result[t]) if not seen else min(seen) - 1e-6 <= result[t]
        assert not seen or result[t] <= max(seen) + 1e-6


@given(curves)
def test_span_one_keeps_every_number_and_fills_gaps_with_the_last(curve: list[float]) -> None:
    result = smoothed(curve, 1)
    last = math.nan
    for point, value in zip(curve, result, strict=True):
        last = last if math.isnan(point) else point
        assert value == last or (math.isnan(value) and math.isnan(last))


@given(st.integers(1, 30), points, spans)
def test_a_constant_curve_stays_constant(length: int, value: float, span: float) -> None:
    assert smoothed([value] * length, span).tolist() == [value] * length


@given(curves, spans)
def test_the_future_does_not_reach_back(curve: list[float], span: float) -> None:
    whole = smoothed(curve, span)
    np.testing.assert_array_equal(smoothed(curve[:-1], span), whole[:-1])


def test_an_infinite_span_is_the_running_mean() -> None:
    assert smoothed([1.0, 3.0, 8.0], math.inf).tolist() == [1.0, 2.0, 4.0]


def test_a_very_long_gap_forgets_the_past_without_a_warning() -> None:
    result = smoothed([5.0, *[math.nan] * 5000, 1.0], 2)
    assert result[-2:].tolist() == [5.0, 1.0]


def test_an_empty_curve_stays_empty() -> None:
    assert smoothed([], 5).shape == (0,)


@pytest.mark.parametrize("span", [0.5, -1.0, math.nan])
def test_a_span_below_one_is_refused(span: float) -> None:
    with pytest.raises(ValueError, match=f"span must be at least 1, got {span}"):
        smoothed([1.0], span)


def test_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(t,\), got \(1, 2\)"):
        smoothed([[1.0, 2.0]], 5)
