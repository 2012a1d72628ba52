"""A rule once more, on what a record knows of its round."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from cohorts import RULES, cohort_of, cohorts
from fedmgda._errors import SpecError
from fedmgda.experiments._recorded import RecordedUpdates
from fedmgda.experiments._rows import Gram
from fedmgda.minnorm import duality_gap
from fedmgda.rules import Constraint, FedAvg, FedMGDA, Rule, weigh_again

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
CONSTRAINED = FedMGDA(constraints=(Constraint(coefficients=((0, 1.0),), at_most=0.2),))


def recorded(cohort):
    """Return the cohort as a record knows it: norms and products."""
    m = len(cohort.client_ids)
    gram = Gram(matrix=cohort.updates.gramian(), columns=np.arange(m))
    return replace(cohort, updates=RecordedUpdates(cohort.updates.norms(), gram))


def again(rule, cohort, lam, round_num=1):
    known = recorded(cohort)
    state = rule.init(len(cohort.client_ids))
    return weigh_again(rule, known, lam, state, round_num, inner=known.updates.inner_of)


@every_rule
@given(cohorts(with_zeros=True))
def test_it_weighs_as_it_did(rule, cohort):
    weighing, state = rule.weigh(cohort, rule.init(len(cohort.client_ids)), 1)
    found, after = again(rule, cohort, weighing.lam)
    np.testing.assert_allclose(found.weights, weighing.weights, rtol=1e-12)
    np.testing.assert_allclose(found.lam, weighing.lam, rtol=1e-12)
    assert found.dropped == weighing.dropped
    scale = 1.0 if getattr(rule, "normalize", False) else cohort.updates.norms().max() ** 2
    assert abs(found.gap - weighing.gap) <= 1e-12 * scale
    for name, array in state.items():
        np.testing.assert_array_equal(after[name], array)


@given(st.integers(0, 2**32), st.integers(2, 8))
def test_the_gap_is_that_of_the_given_weights_and_of_no_solver(seed, m):
    rng = np.random.default_rng(seed)
    cohort = cohort_of(rng.normal(size=(m, 5)))
    lam = rng.dirichlet(np.ones(m))
    found, _ = again(FedMGDA(), cohort, lam)
    expected = duality_gap(cohort.updates.normalized_gramian()[0], lam)
    np.testing.assert_allclose(found.gap, expected, rtol=1e-9, atol=1e-14)


@given(st.integers(0, 2**32), st.integers(3, 8))
@settings(max_examples=40)
def test_constraints_have_a_bound_of_their_own(seed, m):
    rng = np.random.default_rng(seed)
    cohort = cohort_of(rng.normal(size=(m, 9)))
    weighing, _ = CONSTRAINED.weigh(cohort, {}, 1)
    found, _ = again(CONSTRAINED, cohort, weighing.lam)
    assert abs(found.gap - weighing.gap) <= 1e-12
    worse = np.where(np.arange(m) == m - 1, 1.0, 0.0)
    assert again(CONSTRAINED, cohort, worse)[0].gap > weighing.gap
    with pytest.raises(
        ValueError, match=r"lam must satisfy rule\.constraints, exceeds one by 0\.8"
    ):
        again(CONSTRAINED, cohort, worse[::-1])


def test_weights_that_cannot_be_are_refused():
    cohort = cohort_of(np.eye(3))
    for lam in ([0.5, 0.5, 0.5], [1.5, -0.5, 0.0], [np.nan, 0.5, 0.5]):
        with pytest.raises(ValueError, match="lam must be feasible"):
            again(FedMGDA(), cohort, np.array(lam))
    with pytest.raises(ValueError, match="lam must be feasible"):
        again(FedMGDA(epsilon=0.1), cohort, np.array([0.0, 0.5, 0.5]))


def test_without_products_no_gap_is_told():
    cohort = cohort_of(np.eye(2))
    found, _ = weigh_again(FedMGDA(), cohort, np.array([0.5, 0.5]), {}, 1)
    assert np.isnan(found.gap)
    constrained = weigh_again(CONSTRAINED, cohort, np.array([0.2, 0.8]), {}, 1)
    assert np.isnan(constrained[0].gap)


def test_a_rule_of_ones_own_is_not_asked():
    class Own(Rule):
        def weigh(self, *_):
            raise AssertionError

    assert weigh_again(Own(), cohort_of(np.eye(2)), np.ones(2), {}, 1) is None


def test_what_a_record_does_not_know_is_refused():
    cohort = cohort_of(np.eye(3))
    known = RecordedUpdates(np.ones(3), Gram(matrix=np.eye(3)[:, :2], columns=np.arange(2)))
    np.testing.assert_array_equal(known.inner_of(np.array([0.5, 0.5, 0.0])), [0.5, 0.5, 0.0])
    for ask in (
        lambda: known.inner_of(np.ones(3)),
        known.gramian,
        lambda: known.combine(np.ones(3)),
        lambda: known.inner(np.ones(3)),
        lambda: known.select(np.ones(3, dtype=bool)),
        RecordedUpdates(np.ones(3), None).gramian,
    ):
        with pytest.raises(ValueError, match=r"kept|record"):
            ask()
    with pytest.raises(SpecError, match="none for client"):
        again(FedAvg(center=(1.0, 2.0)), cohort, np.ones(3))
