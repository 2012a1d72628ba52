"""λ0 by numbers, and preferences over λ."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import aggregate, cohort_of, cohorts
from fedmgda._errors import SpecError
from fedmgda.rules import AFL, Constraint, FedAvg, FedMGDA, QFedAvg, center_weights
from fedmgda.values import Annealed, value_at


@given(cohorts(), st.integers(0, 2**32))
def test_numbers_in_proportion_to_the_examples_are_the_examples(cohort, seed):
    scale = np.random.default_rng(seed).uniform(0.1, 10.0)
    numbers = tuple(scale * cohort.num_examples)
    for rule, other in (
        (FedAvg(center=numbers), FedAvg(center="examples")),
        (FedMGDA(center=numbers, epsilon=0.2), FedMGDA(center="examples", epsilon=0.2)),
    ):
        one, two = aggregate(rule, cohort), aggregate(other, cohort)
        np.testing.assert_allclose(one.lam, two.lam, atol=1e-6)


def test_the_numbers_of_the_participants_are_scaled_to_sum_to_one():
    lam0 = center_weights((1.0, 2.0, 3.0, 4.0), np.ones(2), client_ids=(3, 0))
    assert lam0.tolist() == [0.8, 0.2]


@pytest.mark.parametrize("center", [(), (1.0, 0.0), (1.0, -1.0), (1.0, np.nan), (1.0, np.inf)])
def test_numbers_that_are_not_all_positive_are_refused(center):
    for rule in (FedAvg, FedMGDA):
        with pytest.raises(ValueError, match="center must be positive numbers, one for each"):
            rule(center=center)


def test_a_client_without_a_number_is_named():
    with pytest.raises(SpecError, match=r"rule.center has 2 numbers and none for client 2"):
        FedAvg(center=(1.0, 1.0)).aggregate(cohort_of([[1.0], [1.0], [1.0]]))


@given(cohorts(max_clients=8))
def test_an_annealed_epsilon_is_that_epsilon_in_each_round(cohort):
    falling = FedMGDA(epsilon=Annealed(first=0.9, power=1.0))
    for round_num in (1, 3, 10):
        lam = falling.weigh(cohort, {}, round_num)[0].lam
        fixed = FedMGDA(epsilon=falling.epsilon(round_num)).weigh(cohort, {}, 1)[0].lam
        np.testing.assert_array_equal(lam, fixed)


def test_one_over_eta_follows_the_clients_step():
    cohort = cohort_of([[1.0], [3.0]], losses=[0.3, 0.6])
    falling = QFedAvg(client_lr=Annealed(first=0.4, power=0.5))
    weights = falling.weigh(cohort, {}, 4)[0].weights
    np.testing.assert_array_equal(weights, QFedAvg(client_lr=0.2).weigh(cohort, {}, 1)[0].weights)


def test_a_steep_fall_ends_at_zero():
    assert Annealed(first=1.0, power=700.0)(3) == 0.0
    for first in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match="first must be zero or positive, and finite"):
            Annealed(first=first)


def test_huge_numbers_are_shares_too():
    lam0 = center_weights((1e308, 1e308, 1e307), np.ones(3), client_ids=(0, 1, 2))
    np.testing.assert_allclose(lam0, np.array([10, 10, 1]) / 21)


def test_a_number_does_not_fall():
    assert [value_at(0.3, t) for t in (1, 9)] == [0.3, 0.3]
    with pytest.raises(ValueError, match="power must be zero or positive, and finite, got -1"):
        Annealed(first=1.0, power=-1)
    with pytest.raises(ValueError, match=r"epsilon must lie in \[0, 1\], got 2"):
        FedMGDA(epsilon=Annealed(first=2.0))


class TestConstraints:
    COHORT = cohort_of([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])

    def lam(self, *constraints, cohort=COHORT, **options):
        rule = FedMGDA(constraints=constraints, **options)
        return aggregate(rule, cohort).lam

    def test_a_share_is_guaranteed(self):
        at_least = Constraint(coefficients=((2, -1.0),), at_most=-0.5)
        assert self.lam(at_least) == pytest.approx([0.25, 0.25, 0.5])

    def test_a_share_is_bounded_for_a_group(self):
        group = Constraint(coefficients=((0, 1.0), (1, 1.0)), at_most=0.2)
        assert self.lam(group) == pytest.approx([0.1, 0.1, 0.8])

    def test_a_constraint_that_is_not_active_changes_nothing(self):
        loose = Constraint(coefficients=((0, 1.0),), at_most=0.9)
        assert self.lam(loose) == pytest.approx(self.lam())

    def test_the_box_holds_beside_the_preference(self):
        at_least = Constraint(coefficients=((2, -1.0),), at_most=-0.35)
        lam = self.lam(at_least, epsilon=0.05)
        assert lam[2] >= 0.35 - 1e-9
        assert np.abs(lam - 1 / 3).max() <= 0.05 + 1e-9

    def test_what_nobody_present_can_satisfy_is_said_in_a_sentence(self):
        absent = Constraint(coefficients=((7, -1.0),), at_most=-0.1)
        with pytest.raises(SpecError, match=r"cannot hold in a round of the clients 0, 1, 2: .* 7"):
            self.lam(absent)
        too_much = Constraint(coefficients=((2, -1.0),), at_most=-0.6)
        with pytest.raises(SpecError, match="cannot hold among the participants of this round"):
            self.lam(too_much, epsilon=0.1)

    @given(cohorts(max_clients=8))
    def test_the_weights_satisfy_it_and_the_gap_certifies_them(self, cohort):
        half = Constraint(coefficients=((0, 1.0),), at_most=0.5)
        rule = FedMGDA(constraints=(half,))
        if len(cohort.client_ids) == 1:
            with pytest.raises(SpecError, match="needs others to take part"):
                aggregate(rule, cohort)
            return
        result = aggregate(rule, cohort)
        assert result.lam[0] <= 0.5 + 1e-9
        assert result.gap <= 1e-9

    @pytest.mark.parametrize(
        ("coefficients", "bound"), [((), 1.0), (((0, np.nan),), 1.0), (((0, 1.0),), np.inf)]
    )
    def test_what_is_no_constraint_is_refused(self, coefficients, bound):
        with pytest.raises(ValueError, match="constraints must name clients and be finite"):
            Constraint(coefficients=coefficients, at_most=bound)

    def test_without_a_choice_there_is_nothing_to_constrain(self):
        one = Constraint(coefficients=((0, 1.0),), at_most=0.5)
        with pytest.raises(ValueError, match="epsilon = 0 leaves none"):
            FedMGDA(epsilon=0.0, constraints=(one,))


def test_only_rules_that_read_losses_say_so():
    assert [rule.reads_losses for rule in (FedAvg, FedMGDA, QFedAvg, AFL)] == [False] * 2 + [
        True
    ] * 2
