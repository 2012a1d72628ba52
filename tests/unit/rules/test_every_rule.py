"""What every rule owes its callers, whatever the cohort."""

import copy
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import RULES, aggregate, cohort_of, cohorts
from fedmgda.rules import AFL, FedAvg, FedMGDA, QFedAvg

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@every_rule
@given(cohorts(dtype=np.float32, with_zeros=True))
def test_the_direction_is_finite_and_has_the_shape_and_dtype_of_an_update(rule, cohort):
    result = aggregate(rule, cohort)
    assert result.direction.shape == cohort.updates.rows.shape[1:]
    assert result.direction.dtype == cohort.updates.rows.dtype
    assert np.isfinite(result.direction).all()
    assert result.lam.shape == result.inner.shape == (len(cohort.client_ids),)
    assert result.client_ids == cohort.client_ids


@every_rule
@given(cohorts())
def test_no_rule_changes_its_input(rule, cohort):
    before = copy.deepcopy(cohort)
    aggregate(rule, cohort)
    for name in ("updates", "num_examples", "losses"):
        np.testing.assert_array_equal(getattr(cohort, name), getattr(before, name))


@every_rule
@given(cohorts())
def test_the_evidence_speaks_of_the_very_direction(rule, cohort):
    result = aggregate(rule, cohort)
    inner = cohort.updates.rows @ result.direction
    scale = np.linalg.norm(cohort.updates.rows, axis=1) * np.linalg.norm(result.direction)
    assert np.all(np.abs(result.inner - inner) <= 1e-12 * (1 + scale))
    assert result.norm == pytest.approx(np.linalg.norm(result.direction), rel=1e-12, abs=1e-300)
    negative = result.inner < -result.rounding
    against = [c for c, v in zip(cohort.client_ids, negative, strict=True) if v]
    assert list(result.sacrificed) == ([] if result.stalled else against)


@every_rule
@given(cohorts(), st.randoms(use_true_random=False))
def test_permuting_clients_permutes_lam_and_keeps_the_direction(rule, cohort, random):
    order = list(range(len(cohort.client_ids)))
    random.shuffle(order)
    permuted = replace(
        cohort,
        updates=cohort.updates.rows[order],
        num_examples=cohort.num_examples[order],
        losses=cohort.losses[order],
    )
    one, other = aggregate(rule, cohort), aggregate(rule, permuted)
    largest = np.linalg.norm(cohort.updates.rows, axis=1).max()
    scale = largest if not getattr(rule, "normalize", False) else 1.0
    np.testing.assert_allclose(other.direction, one.direction, atol=1e-6 * scale, rtol=0)


@every_rule
def test_one_client_alone_is_followed(rule):
    cohort = cohort_of([[3.0, -4.0]])
    result = aggregate(rule, cohort)
    cosine = result.inner[0] / (5.0 * result.norm)
    assert cosine == pytest.approx(1.0, rel=1e-12)
    if not isinstance(rule, QFedAvg):  # its λ carries the step length
        assert result.lam == pytest.approx([1.0])


@every_rule
def test_huge_finite_float32_values_stay_finite(rule):
    cohort = cohort_of([[3e38, 1.0], [1e38, -2e38], [1e-38, 1.0]], dtype=np.float32)
    result = aggregate(rule, cohort)
    assert np.isfinite(result.direction).all()
    assert np.isfinite(result.inner).all()


@every_rule
def test_whole_numbers_are_numbers(rule):
    updates = [[1, 0, 2], [0, 9, -1]]
    result = aggregate(rule, cohort_of(updates, dtype=np.int64))
    np.testing.assert_array_equal(result.direction, aggregate(rule, cohort_of(updates)).direction)
    assert result.direction.dtype == np.float64


@every_rule
def test_float64_values_whose_squares_overflow_are_combined_or_refused(rule):
    cohort = cohort_of([[1e200, 0.0], [0.0, 9.0]])
    if rule == FedMGDA(normalize=False):  # λ needs the squares themselves
        with pytest.raises(ValueError, match="squares in the range of float64, row 0 is not"):
            aggregate(rule, cohort)
    else:
        result = aggregate(rule, cohort)
        assert np.isfinite(result.direction).all()
        assert np.isfinite(result.norm)
        assert (result.inner >= 0.0).all()


@every_rule
@pytest.mark.parametrize("row", [0, 2])
def test_nan_that_slipped_past_the_gate_is_refused_or_shown(rule, row):
    updates = np.array([[1.0, 2.0], [0.0, 9.0], [1.0, 1.0]])
    updates[row, 0] = np.nan
    try:
        result = aggregate(rule, cohort_of(updates))
    except ValueError as error:
        assert "must be finite" in str(error) or "norm nan" in str(error)  # noqa: PT017
    else:
        assert result.sacrificed == (0, 1, 2)


@every_rule
def test_a_rule_is_a_value(rule):
    assert rule == replace(rule)
    assert hash(rule) == hash(replace(rule))
    with pytest.raises(FrozenInstanceError):
        setattr(rule, fields(rule)[0].name, 1)


@given(cohorts())
def test_bias_added_to_losses_moves_only_the_rules_that_read_losses(cohort):
    biased = replace(cohort, losses=cohort.losses + 1000.0)
    for name, rule in RULES.items():
        same = np.array_equal(aggregate(rule, cohort).direction, aggregate(rule, biased).direction)
        reads_losses = isinstance(rule, QFedAvg | AFL)
        assert same or reads_losses, name


@pytest.mark.parametrize(
    ("rule", "options", "names"),
    [
        (FedAvg, {"center": "exmples"}, "'uniform', 'examples', got 'exmples'"),
        (FedMGDA, {"center": "exmples"}, "'uniform', 'examples', got 'exmples'"),
        (FedAvg, {"zero_update": "dorp"}, "'drop', 'stall', 'error', got 'dorp'"),
        (FedMGDA, {"zero_update": "dorp"}, "'drop', 'stall', 'error', got 'dorp'"),
        (QFedAvg, {"loss_scale": "men"}, "'mean', 'batch-sum', 'sum', got 'men'"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_names(rule, options, names):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be one of {names}"):
        rule(**options)


@pytest.mark.parametrize("rule", [QFedAvg(lipschitz=1.0), AFL()])
@pytest.mark.parametrize("loss", [np.nan, np.inf, -1.0])
def test_a_rule_that_reads_losses_refuses_what_is_none(rule, loss):
    with pytest.raises(
        ValueError, match=r"losses must be finite and zero or positive, got .* row 1"
    ):
        aggregate(rule, cohort_of([[1.0], [2.0]], losses=[1.0, loss]))
