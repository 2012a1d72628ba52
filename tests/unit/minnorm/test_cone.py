"""The nearest step in a cone: certified, right by a second method, and indifferent to units."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.minnorm import ConeSolution, Status, cone_certificate, min_norm, nearest_in_cone
from unit.minnorm._cones import Cone, cones
from unit.minnorm._oracles import nearest_step

if TYPE_CHECKING:
    from fedmgda._types import Matrix, Vector

SEEDS = st.integers(0, 2**32)
ROUNDING = 1e-13  # relative to the natural scales, for up to 300 users


def natural(case: Cone, solution: ConeSolution) -> tuple[Vector, Vector, float]:
    """Return v_i ‖u_i‖, (⟨u_i, z'⟩ - bound) / ‖u_i‖ and the scale of what rounding does to them."""
    lengths = np.sqrt(np.diagonal(case.gramian))
    some = lengths > 0.0
    demand = (case.bound - case.inner)[some] / lengths[some]
    y = (solution.multipliers * lengths)[some]
    slack = (case.gramian @ solution.multipliers)[some] / lengths[some] - demand
    return y, slack, float(y.sum()) + float(demand.max(initial=0.0))


def assert_certified(case: Cone, solution: ConeSolution) -> None:
    """Check what is promised of every feasible instance."""
    v = solution.multipliers
    assert v.dtype == np.float64
    assert v.shape == (len(case.rows),)
    assert (v >= 0.0).all()
    assert solution.status in (Status.CLOSED_FORM, Status.OPTIMAL)
    y, slack, scale = natural(case, solution)
    assert slack.min(initial=0.0) >= -ROUNDING * scale
    assert y @ np.abs(slack) <= ROUNDING * scale**2
    certificate = cone_certificate(case.gramian, case.inner, case.bound, v)
    assert (certificate.gap, certificate.violation) == (solution.gap, solution.violation)
    move = np.linalg.norm(v @ case.rows)
    assert abs(solution.distance - move) <= 1e-7 * scale


def second_method_agrees(case: Cone, solution: ConeSolution) -> bool:
    """Compare the step with another method where K determines it; say if it does."""
    lengths = np.linalg.norm(case.rows, axis=1)
    if solution.multipliers @ lengths > 1e4 * solution.distance:
        return False
    other = nearest_step(case.rows, case.step, case.bound)
    if other is None:
        return False
    found = case.step + solution.multipliers @ case.rows
    size = max(float(np.linalg.norm(case.step)), solution.distance)
    assert np.linalg.norm(found - other) <= 1e-7 * size
    return True


def check(count: int, seed: int, largest: int, compare_up_to: int) -> int:
    """Check `count` instances; return how many were compared with a second method."""
    compared = 0
    for number, case in enumerate(cones(count, seed, largest)):
        try:
            solution = nearest_in_cone(case.gramian, case.inner, case.bound)
            assert_certified(case, solution)
            if len(case.rows) <= compare_up_to:
                compared += second_method_agrees(case, solution)
        except AssertionError as error:
            error.add_note(f"instance {number}: {case.name}, m={len(case.rows)}, {case.bound=}")
            raise
    return compared


def test_every_cone_is_certified_and_agrees_with_a_second_method() -> None:
    assert check(300, seed=0, largest=100, compare_up_to=100) >= 270


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_thousands_of_cones_are_certified_and_agree(seed: int) -> None:
    assert check(1000, seed=seed, largest=300, compare_up_to=300) >= 900


def unit_rows(rng: np.random.Generator, m: int, d: int, drift: float) -> Matrix:
    rows = rng.normal(size=(m, d)) + drift
    unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def exact_certificate(
    gramian: Matrix, inner: Vector, bound: float, v: Vector
) -> tuple[Fraction, Fraction]:
    """Return gap and violation in rational arithmetic."""
    exact = [Fraction(float(value)) for value in v]
    slack = [
        sum((Fraction(float(k)) * x for k, x in zip(row, exact, strict=True)), Fraction(0))
        + Fraction(float(value))
        - Fraction(bound)
        for row, value in zip(gramian, inner, strict=True)
    ]
    gap = sum((x * abs(s) for x, s in zip(exact, slack, strict=True)), Fraction(0))
    return gap, max(Fraction(0), -min(slack))


@given(SEEDS, st.integers(1, 8), st.sampled_from([-300, -40, 0, 40, 300]))
def test_the_certificate_is_that_of_rational_arithmetic(seed: int, m: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    rows, step = np.ldexp(rng.normal(size=(m, 4)), power), rng.normal(size=4)
    gramian, inner, v = rows @ rows.T, rows @ step, np.ldexp(rng.random(m), -power)
    bound = float(np.ldexp(rng.random(), power))
    certificate = cone_certificate(gramian, inner, bound, v)
    gap, violation = exact_certificate(gramian, inner, bound, v)
    size = float(np.abs(gramian).max() * v.sum() + np.abs(inner).max() + bound)
    assert abs(certificate.violation - violation) <= 1e-14 * size
    assert abs(certificate.gap - gap) <= 1e-14 * size * v.sum()


@given(SEEDS, st.integers(1, 12), st.integers(1, 12), st.floats(0.001, 0.999))
def test_every_share_of_the_best_margin_can_be_had(seed: int, m: int, d: int, kappa: float) -> None:
    rng = np.random.default_rng(seed)
    rows, step = unit_rows(rng, m, d, rng.choice([0.0, 0.5])), rng.normal(size=d)
    omega = min_norm(rows @ rows.T).norm
    bound = kappa * omega * float(np.linalg.norm(step))
    if omega <= 1e-6:
        bound = 0.0
    solution = nearest_in_cone(rows @ rows.T, rows @ step, bound)
    assert solution.status in (Status.CLOSED_FORM, Status.OPTIMAL)
    assert (rows @ (step + solution.multipliers @ rows) >= bound - 1e-10 * abs(step).max()).all()


@given(SEEDS, st.integers(1, 12), st.integers(1, 12), st.floats(0.0, 0.99))
def test_a_step_inside_the_cone_is_kept(seed: int, m: int, d: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng, m, d, 0.5)
    step = rng.normal(size=d)
    inner = rows @ step
    bound = max(0.0, share * float(inner.min()))
    inner = np.maximum(inner, bound)
    solution = nearest_in_cone(rows @ rows.T, inner, bound)
    assert not solution.multipliers.any()
    assert (solution.gap, solution.violation, solution.distance) == (0.0, 0.0, 0.0)


@given(SEEDS, st.integers(1, 12), st.integers(2, 12))
def test_the_step_that_is_returned_is_in_the_cone_with_nothing_to_add(
    seed: int, m: int, d: int
) -> None:
    rng = np.random.default_rng(seed)
    rows, step = unit_rows(rng, m, d, 0.3), rng.normal(size=d)
    bound = 0.9 * min_norm(rows @ rows.T).norm * float(np.linalg.norm(step))
    bound = bound if bound > 1e-6 else 0.0
    first = nearest_in_cone(rows @ rows.T, rows @ step, bound)
    moved = step + first.multipliers @ rows
    second = nearest_in_cone(rows @ rows.T, rows @ moved, bound)
    assert second.distance <= 1e-9 * float(np.linalg.norm(step))


@pytest.mark.parametrize("power", [-500, -3, 7, 490])
def test_the_units_of_step_and_bound_change_only_the_units_of_the_answer(power: int) -> None:
    for case in cones(90, seed=11, largest=30):
        if case.name in ("tiny", "huge") or not 2.0**-61 < abs(case.step).max() < 2.0**10:
            continue
        plain = nearest_in_cone(case.gramian, case.inner, case.bound)
        scaled = nearest_in_cone(
            case.gramian, np.ldexp(case.inner, power), float(np.ldexp(case.bound, power))
        )
        np.testing.assert_array_equal(scaled.multipliers, np.ldexp(plain.multipliers, power))
        assert scaled.distance == np.ldexp(plain.distance, power)
        assert scaled.violation == np.ldexp(plain.violation, power)
        assert scaled.iterations == plain.iterations


def test_the_units_of_a_row_do_not_matter_where_the_bound_is_zero() -> None:
    for case in cones(90, seed=12, largest=30):
        powers = np.random.default_rng(len(case.rows)).integers(-9, 9, size=len(case.rows))
        plain = nearest_in_cone(case.gramian, case.inner, 0.0)
        rows = np.ldexp(case.rows, powers[:, None])
        scaled = nearest_in_cone(rows @ rows.T, rows @ case.step, 0.0)
        difference = (np.ldexp(scaled.multipliers, powers) - plain.multipliers) @ case.rows
        scale = float(np.linalg.norm(case.step))
        assert np.linalg.norm(difference) <= 1e-7 * scale


def test_the_order_of_the_users_does_not_matter() -> None:
    for case in cones(180, seed=13, largest=40):
        order = np.random.default_rng(len(case.rows)).permutation(len(case.rows))
        gramian, inner = case.gramian, case.inner
        plain = nearest_in_cone(gramian, inner, case.bound)
        other = nearest_in_cone(gramian[order][:, order], inner[order], case.bound)
        lengths = np.sqrt(np.diagonal(gramian))
        difference = (other.multipliers - plain.multipliers[order]) * lengths[order]
        total = float(plain.multipliers @ lengths)
        if total <= 1e3 * plain.distance:  # beyond that rounding in K decides v, though not z'
            assert np.abs(difference).max() <= 1e-6 * total, case.name


@given(SEEDS, st.integers(2, 10), st.integers(1, 4))
def test_users_who_are_alike_get_alike(seed: int, m: int, copies: int) -> None:
    rng = np.random.default_rng(seed)
    rows, step = unit_rows(rng, m, m + 2, 0.3), rng.normal(size=m + 2)
    bound = 0.5 * min_norm(rows @ rows.T).norm * float(np.linalg.norm(step))
    once = nearest_in_cone(rows @ rows.T, rows @ step, bound)
    again = np.repeat(rows, copies, axis=0)
    many = nearest_in_cone(again @ again.T, again @ step, bound)
    expected = np.repeat(once.multipliers / copies, copies)
    np.testing.assert_allclose(many.multipliers, expected, atol=1e-9 * once.multipliers.sum())


@given(SEEDS, st.integers(2, 10), st.floats(1e-6, 1e3))
def test_what_no_step_can_give_is_refused_by_its_violation(seed: int, m: int, bound: float) -> None:
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng, m, 5, 0.0)
    opposed = np.concatenate((rows, -rows.mean(axis=0, keepdims=True)))
    zero = np.concatenate((rows, np.zeros((1, 5))))
    for infeasible in (opposed, zero):
        solution = nearest_in_cone(
            infeasible @ infeasible.T, infeasible @ rng.normal(size=5), bound
        )
        assert solution.status == Status.INACCURATE
        assert solution.violation >= (1 - 1e-6) * bound
        assert np.isfinite(solution.multipliers).all()


@given(SEEDS, st.integers(1, 8), st.sampled_from([-300, 0, 300]))
def test_what_is_no_gram_matrix_gets_an_answer_and_its_certificate(
    seed: int, m: int, power: int
) -> None:
    rng = np.random.default_rng(seed)
    matrix, inner = np.ldexp(rng.integers(-2, 3, size=(m, m)) + 0.0, power), rng.normal(size=m)
    solution = nearest_in_cone(matrix, inner, 0.5)
    assert np.isfinite(solution.multipliers).all()
    assert (solution.multipliers >= 0.0).all()
    certificate = cone_certificate(matrix, inner, 0.5, solution.multipliers)
    assert (certificate.gap, certificate.violation) == (solution.gap, solution.violation)


def test_one_user_has_a_closed_form() -> None:
    solution = nearest_in_cone(np.array([[4.0]]), np.array([-2.0]), 6.0)
    assert solution.multipliers.tolist() == [2.0]
    assert (solution.distance, solution.iterations) == (4.0, 0)
    assert solution.status == Status.CLOSED_FORM


def test_no_step_at_all_stays_so() -> None:
    rows = np.random.default_rng(0).normal(size=(5, 3))
    solution = nearest_in_cone(rows @ rows.T, np.zeros(5), 0.0)
    assert not solution.multipliers.any()
    assert solution.status == Status.CLOSED_FORM


def test_a_user_far_inside_does_not_hide_one_barely_outside() -> None:
    solution = nearest_in_cone(np.eye(2), np.array([1e300, -1e-300]), 0.0)
    assert solution.multipliers.tolist() == [0.0, 1e-300]
    assert solution.violation == 0.0


def test_inner_products_near_the_end_of_float64_do_not_overflow() -> None:
    solution = nearest_in_cone(np.eye(2), np.array([-1e308, 1e308]), 1e308)
    assert solution.multipliers.tolist() == [np.finfo(np.float64).max, 0.0]  # 2e308 is beyond it
    assert solution.violation == pytest.approx(1e308 - (np.finfo(np.float64).max - 1e308))
    small = nearest_in_cone(np.eye(2), np.array([-5e-324, 1.0]), 0.0)
    assert small.multipliers.tolist() == [5e-324, 0.0]


@pytest.mark.parametrize(
    ("inner", "bound", "message"),
    [
        ([1.0], 0.0, r"inner must have shape \(2,\), got \(1,\)"),
        ([1.0, np.nan], 0.0, "inner must be finite, got nan in row 1"),
        ([1.0, 1.0], -1.0, "bound must be finite and >= 0, got -1.0"),
        ([1.0, 1.0], np.inf, "bound must be finite and >= 0, got inf"),
    ],
)
def test_bad_arguments_get_a_sentence(inner: list[float], bound: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nearest_in_cone(np.eye(2), np.array(inner), bound)


@pytest.mark.parametrize("multipliers", [[1.0], [1.0, -1e-9], [1.0, np.inf]])
def test_bad_multipliers_have_no_certificate(multipliers: list[float]) -> None:
    with pytest.raises(ValueError, match="multipliers must be 2 finite numbers >= 0"):
        cone_certificate(np.eye(2), np.zeros(2), 0.0, np.array(multipliers))
