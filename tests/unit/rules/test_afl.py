from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from cohorts import cohort_of, cohorts, step
from fedmgda.rules import AFL, FedAvg


@given(cohorts())
def test_without_ascent_it_is_fedavg(cohort):
    rule = AFL(gamma_lambda=0.0)
    result, state = step(rule, cohort, rule.init(len(cohort.client_ids)))
    scale = np.abs(cohort.updates.rows).max()
    np.testing.assert_allclose(
        result.direction, FedAvg().aggregate(cohort).direction, atol=1e-14 * scale
    )
    np.testing.assert_allclose(state["lam"], 1 / len(cohort.client_ids), rtol=1e-12)


@given(cohorts())
def test_the_mixture_stays_in_the_simplex_and_climbs(cohort):
    rule = AFL(gamma_lambda=0.5)
    before = rule.init(len(cohort.client_ids))
    _, after = step(rule, cohort, before)
    assert after["lam"].sum() == pytest.approx(1.0)
    assert after["lam"].min() >= 0.0
    assert after["lam"] @ cohort.losses >= before["lam"] @ cohort.losses - 1e-12


def test_the_projection_is_the_correct_one():
    # λ + γ f = (1.4, 0.25), of which the released code makes (1.075, 0).
    rule = AFL(gamma_lambda=1.0)
    _, state = step(
        rule, cohort_of([[1.0], [1.0]], losses=[0.9, 0.0]), {"lam": np.array([0.5, 0.25])}
    )
    assert state["lam"] == pytest.approx([1.0, 0.0])


def test_a_partial_cohort_is_renormalised_and_only_its_losses_climb():
    rule = AFL(gamma_w=2.0, gamma_lambda=0.3)
    state = {"lam": np.array([0.2, 0.6, 0.2])}
    cohort = cohort_of([[1.0], [5.0]], losses=[0.0, 1.0])
    result, after = step(rule, cohort, state)
    assert result.lam == pytest.approx([0.5, 1.5])
    assert result.direction == pytest.approx([8.0])
    assert after["lam"] == pytest.approx([0.1, 0.8, 0.1])


def test_participants_without_weight_do_not_move_the_model():
    rule = AFL()
    result, _ = step(rule, cohort_of([[1.0]]), {"lam": np.array([0.0, 1.0])})
    assert result.norm == 0.0


@pytest.mark.parametrize("stranger", [-1, 2])
def test_a_client_it_was_not_started_with_is_refused(stranger):
    cohort = replace(cohort_of([[1.0], [2.0]]), client_ids=(0, stranger))
    with pytest.raises(ValueError, match=f"client_ids must lie in 0 to 1, .* got {stranger}"):
        step(AFL(), cohort, AFL().init(2))


@pytest.mark.parametrize("losses", [[1e30, 2e30], [0.1, 1e308], [1e308, 1.5e308]])
def test_a_climb_beyond_float64_ends_at_the_larger_loss(losses):
    rule = AFL(gamma_lambda=1e300)
    _, state = step(rule, cohort_of([[1.0], [1.0]], losses=losses), rule.init(3))
    assert state["lam"].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "options", [{"gamma_w": 0.0}, {"gamma_lambda": -1.0}, {"gamma_w": np.nan}, {"gamma_w": "fast"}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        AFL(**options)
