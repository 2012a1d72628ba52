import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import cohort_of, cohorts
from fedmgda.rules import FedAvg, QFedAvg


def by_the_book(cohort, q, lipschitz):
    """The formula of the paper, term by term: w_{t+1} = w_t - ΣΔ_k / Σh_k."""
    losses = cohort.losses + 1e-10
    deltas = lipschitz * cohort.updates.rows
    numerator = (losses[:, None] ** q * deltas).sum(axis=0)
    squares = (deltas**2).sum(axis=1)
    return numerator / (q * losses ** (q - 1) * squares + lipschitz * losses**q).sum()


@given(
    cohorts(), st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 5.0]), st.sampled_from([0.1, 1.0, 10.0])
)
def test_it_is_the_formula_of_the_paper(cohort, q, lipschitz):
    ours = QFedAvg(q=q, lipschitz=lipschitz).aggregate(cohort).direction
    np.testing.assert_allclose(ours, by_the_book(cohort, q, lipschitz), rtol=1e-9, atol=1e-300)


@given(cohorts(), st.sampled_from([0.1, 1.0, 10.0]))
def test_q_zero_is_uniform_fedavg_for_every_lipschitz(cohort, lipschitz):
    ours = QFedAvg(q=0.0, lipschitz=lipschitz).aggregate(cohort).direction
    np.testing.assert_array_equal(ours, FedAvg().aggregate(cohort).direction)


@given(cohorts())
def test_one_over_eta_is_a_lipschitz_constant(cohort):
    np.testing.assert_array_equal(
        QFedAvg(q=1.0, client_lr=0.25).aggregate(cohort).direction,
        QFedAvg(q=1.0, lipschitz=4.0).aggregate(cohort).direction,
    )


def test_huge_losses_do_not_overflow():
    cohort = cohort_of([[1.0], [2.0]], losses=[1e40, 1e-40])
    result = QFedAvg(q=10.0, lipschitz=1.0).aggregate(cohort)
    assert result.direction == pytest.approx([1.0])


def test_zero_losses_do_not_divide_by_zero():
    cohort = cohort_of([[1.0], [2.0]], losses=[0.0, 0.0])
    assert np.isfinite(QFedAvg(q=0.5, lipschitz=1.0).aggregate(cohort).direction).all()


def test_loss_scales_multiply_the_mean_loss():
    cohort = cohort_of([[1.0], [1.0]], losses=[0.5, 0.25], num_examples=[400, 25])
    rules = {
        "mean": [0.5, 0.25],
        "sum": [200.0, 6.25],
        "batch-sum": [20.0, 0.75],  # 40 and 3 batches of 10
    }
    for scale, losses in rules.items():
        ours = QFedAvg(q=2.0, lipschitz=1.0, loss_scale=scale, batch_size=10).aggregate(cohort)
        same = QFedAvg(q=2.0, lipschitz=1.0).aggregate(cohort_of([[1.0], [1.0]], losses=losses))
        np.testing.assert_allclose(ours.direction, same.direction, rtol=1e-9)


@pytest.mark.parametrize("batch_size", [None, 10**400])
def test_batch_sum_of_a_full_batch_is_the_mean(batch_size):
    cohort = cohort_of([[1.0], [3.0]], losses=[0.5, 0.25], num_examples=[400, 25])
    rule = QFedAvg(q=1.0, lipschitz=1.0, loss_scale="batch-sum", batch_size=batch_size)
    other = QFedAvg(q=1.0, lipschitz=1.0).aggregate(cohort)
    np.testing.assert_array_equal(rule.aggregate(cohort).direction, other.direction)


def test_a_square_beyond_float64_is_divided_by_its_loss_before_it_overflows():
    cohort = cohort_of([[1e160], [0.0]], losses=[1e40, 1e40])
    result = QFedAvg(q=1.0, lipschitz=1.0).aggregate(cohort)
    assert result.direction == pytest.approx([1e-120])  # F / (L ‖g‖), the damping being 1e280


@pytest.mark.parametrize("scale", ["sum", "batch-sum"])
def test_a_total_loss_beyond_float64_is_the_largest_there_is(scale):
    cohort = cohort_of([[1.0], [3.0]], losses=[1e308, 1.0], num_examples=[1e6, 1e6])
    rule = QFedAvg(q=1.0, lipschitz=1.0, loss_scale=scale, batch_size=10)
    assert rule.aggregate(cohort).direction == pytest.approx([1.0])


def test_q_zero_is_fedavg_for_losses_as_different_as_can_be():
    cohort = cohort_of([[1e300], [3.0]], losses=[1e308, 0.0])
    ours = QFedAvg(q=0.0, lipschitz=1.0).aggregate(cohort).direction
    np.testing.assert_array_equal(ours, FedAvg().aggregate(cohort).direction)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q": -1.0, "lipschitz": 1.0}, "q must be zero or positive and finite, got -1.0"),
        ({"lipschitz": 0.0}, "lipschitz must be positive and finite, or '1/eta', got 0.0"),
        ({"lipschitz": "1/eat"}, "lipschitz must be positive and finite, or '1/eta', got 1/eat"),
        ({"lipschitz": 10**400}, "lipschitz must be positive and finite, or '1/eta', got 10"),
        ({}, "needs client_lr"),
        ({"client_lr": 0.0}, "client_lr must be positive and finite, got 0.0"),
        ({"client_lr": -1.0, "lipschitz": 1.0}, "client_lr must be positive and finite, got -1.0"),
        ({"client_lr": np.inf}, "client_lr must be positive and finite, got inf"),
        ({"lipschitz": 1.0, "batch_size": 0}, "batch_size must be at least 1 or None, got 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        QFedAvg(**options)
