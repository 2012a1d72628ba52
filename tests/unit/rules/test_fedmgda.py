import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import aggregate, cohort_of, cohorts
from fedmgda import values
from fedmgda._errors import ZeroUpdateError
from fedmgda.minnorm import project_onto_box
from fedmgda.rules import Constraint, FedAvg, FedMGDA, _fedmgda, center_weights

normalizations = st.booleans()
epsilons = st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0])
centers = st.sampled_from(["uniform", "examples"])


def unit(updates):
    return updates / np.linalg.norm(updates, axis=1, keepdims=True)


@given(cohorts(), normalizations)
def test_nobody_is_sacrificed_at_epsilon_one(cohort, normalize):
    result = FedMGDA(normalize=normalize).aggregate(cohort)
    rows = unit(cohort.updates.rows) if normalize else cohort.updates.rows
    largest = (rows**2).sum(axis=1).max()
    assert np.all(rows @ result.direction >= result.norm**2 - result.gap - 1e-12 * largest)


@given(cohorts(dtype=np.float32))
def test_a_participant_is_helped_unless_the_step_is_lost_in_rounding(cohort):
    result = FedMGDA().aggregate(cohort)
    if result.norm > 1e-3:  # far above the rounding of float32
        assert result.sacrificed == ()
        norms = np.linalg.norm(cohort.updates.rows.astype(np.float64), axis=1)
        assert np.all(result.inner >= norms * result.norm**2 * (1 - 1e-3))


@given(cohorts(), epsilons, centers, st.integers(0, 2**32))
def test_every_mixture_inside_the_box_descends(cohort, epsilon, center, seed):
    result = FedMGDA(epsilon=epsilon, center=center).aggregate(cohort)
    rows = unit(cohort.updates.rows)
    middle = center_weights(center, cohort.num_examples)
    lower, upper = np.maximum(middle - epsilon, 0), np.minimum(middle + epsilon, 1)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        mixture = project_onto_box(middle + epsilon * rng.normal(size=len(rows)), lower, upper)
        assert mixture @ rows @ result.direction >= result.norm**2 - result.gap - 1e-12


def test_a_smaller_box_can_sacrifice_a_user_and_says_so():
    cohort = cohort_of([[1.0, 0.0], [1.0, 0.0], [-0.9, np.sqrt(1 - 0.81)]])
    assert FedMGDA(epsilon=0.0).aggregate(cohort).inner[2] == pytest.approx(-0.267, abs=1e-3)
    assert FedMGDA(epsilon=0.1).aggregate(cohort).inner[2] == pytest.approx(-0.077, abs=1e-3)
    assert FedMGDA(epsilon=0.1).aggregate(cohort).sacrificed == (2,)
    whole = FedMGDA(epsilon=1.0).aggregate(cohort)
    assert whole.inner == pytest.approx([0.05] * 3)
    assert whole.sacrificed == ()


@given(cohorts(with_zeros=True), normalizations, centers)
def test_epsilon_zero_is_fedavg_to_the_bit(cohort, normalize, center):
    ours = FedMGDA(epsilon=0.0, normalize=normalize, center=center).aggregate(cohort)
    theirs = FedAvg(normalize=normalize, center=center).aggregate(cohort)
    for name in ("direction", "lam", "inner"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert (ours.norm, ours.gap, ours.dropped) == (theirs.norm, theirs.gap, theirs.dropped)


@given(cohorts(), centers)
def test_the_norm_never_grows_with_epsilon(cohort, center):
    norms = [
        FedMGDA(epsilon=epsilon, center=center).aggregate(cohort).norm
        for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0)
    ]
    assert np.all(np.diff(norms) <= 1e-7)


@given(cohorts(), st.lists(st.sampled_from([1e-6, 0.5, 1.0, 1e3, 1e6]), min_size=12, max_size=12))
def test_a_user_gains_nothing_by_scaling_its_update(cohort, factors):
    scaled = cohort_of(cohort.updates.rows * np.array(factors)[: len(cohort.updates.rows), None])
    for rule in (FedMGDA(), FedMGDA(epsilon=0.1), FedAvg(normalize=True)):
        one, other = rule.aggregate(cohort).direction, rule.aggregate(scaled).direction
        np.testing.assert_allclose(other, one, atol=1e-6)


@given(cohorts())
def test_scaling_by_a_power_of_two_changes_no_bit_of_a_normalised_direction(cohort):
    scaled = cohort_of(cohort.updates.rows * 2.0 ** np.arange(len(cohort.updates.rows))[:, None])
    np.testing.assert_array_equal(
        FedAvg(normalize=True).aggregate(scaled).direction,
        FedAvg(normalize=True).aggregate(cohort).direction,
    )


@given(cohorts(max_clients=8))
def test_a_duplicated_user_does_not_change_the_direction(cohort):
    doubled = cohort_of(np.vstack([cohort.updates.rows, cohort.updates.rows[:1]]))
    np.testing.assert_allclose(
        FedMGDA().aggregate(doubled).direction, FedMGDA().aggregate(cohort).direction, atol=1e-6
    )


@given(cohorts(max_clients=2))
def test_two_users_make_fedmgda_plus_the_same_as_fedavg_n(cohort):
    np.testing.assert_allclose(
        FedMGDA().aggregate(cohort).direction,
        FedAvg(normalize=True).aggregate(cohort).direction,
        atol=1e-12,
    )


@given(cohorts(), epsilons, centers)
def test_a_normalised_step_is_no_longer_than_the_server_step(cohort, epsilon, center):
    assert FedMGDA(epsilon=epsilon, center=center).aggregate(cohort).norm <= 1.0 + 1e-12


@given(cohorts())
def test_a_raw_step_is_no_longer_than_the_shortest_update(cohort):
    shortest = np.linalg.norm(cohort.updates.rows, axis=1).min()
    result = FedMGDA(normalize=False).aggregate(cohort)
    largest = np.linalg.norm(cohort.updates.rows, axis=1).max()
    assert result.norm <= shortest * (1 + 1e-6) + 1e-7 * largest


def test_opposite_users_stop_the_server():
    result = FedMGDA().aggregate(cohort_of([[1.0, 0.0], [-3.0, 0.0]]))
    assert result.norm == pytest.approx(0.0, abs=1e-15)
    assert result.lam == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("normalize", [True, False])
def test_no_copy_of_the_updates_is_made_even_where_a_client_is_dropped(normalize):
    updates = np.random.default_rng(0).standard_normal((50, 400_000), dtype=np.float32)
    updates[7] = 0.0
    cohort, rule = cohort_of(updates, dtype=np.float32), FedMGDA(normalize=normalize)
    tracemalloc.start()
    result = rule.aggregate(cohort)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.dropped == (7,)
    assert peak < 0.2 * updates.nbytes


@given(cohorts(dtype=np.float32), normalizations)
def test_a_client_at_rest_changes_nothing_for_the_others(cohort, normalize):
    resting = np.full_like(cohort.updates.rows[:1], 1e-20)
    joined = cohort_of(np.vstack([resting, cohort.updates.rows]), dtype=np.float32)
    rule = FedMGDA(normalize=normalize)
    alone, together = (
        rule.aggregate(cohort_of(cohort.updates.rows, dtype=np.float32)),
        rule.aggregate(joined),
    )
    assert together.dropped == (0,)
    scale = 1.0 if normalize else np.linalg.norm(cohort.updates.rows, axis=1).max()
    np.testing.assert_allclose(together.direction, alone.direction, atol=1e-6 * scale, rtol=0)


class TestManyShortUpdates:
    """More than 64 updates, at least twice as many as they are long: no Gram matrix is formed."""

    @staticmethod
    def crowd(drift, *, dtype=np.float32):
        rng = np.random.default_rng(0)
        rows = (rng.normal(size=(120, 6)) + drift) * np.exp(rng.normal(size=(120, 1)))
        rows[[5, 70]] = 0.0
        return cohort_of(rows, num_examples=rng.integers(1, 9, size=120), dtype=dtype)

    @pytest.mark.parametrize("drift", [0.0, 0.5, 3.0])
    @pytest.mark.parametrize("normalize", [True, False])
    @pytest.mark.parametrize("epsilon", [0.005, 1.0])
    def test_the_weights_are_those_from_the_gram_matrix(
        self, monkeypatch, drift, normalize, epsilon
    ):
        cohort = self.crowd(drift)
        rule = FedMGDA(normalize=normalize, epsilon=epsilon, center="examples")
        with monkeypatch.context() as forbidden:
            forbidden.setattr(values.DenseUpdates, "_multiplied", None)
            found = rule.aggregate(cohort)
        monkeypatch.setattr(_fedmgda, "short_vectors", lambda _: None)
        other = rule.aggregate(self.crowd(drift))
        assert found.dropped == other.dropped == (5, 70)
        assert found.stalled == other.stalled
        np.testing.assert_allclose(found.lam, other.lam, atol=1e-6)
        scale = np.abs(cohort.updates.rows).max()
        assert found.gap <= 1e-12 * (1.0 if normalize else scale**2)

    def test_a_file_gives_the_bits_of_memory(self, tmp_path):
        cohort = self.crowd(1.0)
        filed = values.FileUpdates.write(tmp_path / "rows", cohort.updates.rows, 6)
        found = FedMGDA().aggregate(replace(cohort, updates=filed))
        assert found.lam.tolist() == FedMGDA().aggregate(cohort).lam.tolist()

    def test_whoever_gives_only_products_is_asked_for_those(self):
        cohort = self.crowd(3.0)
        hidden = OnlyProducts(cohort.updates)
        found = FedMGDA().aggregate(replace(cohort, updates=hidden))
        assert hidden.asked
        np.testing.assert_allclose(found.lam, FedMGDA().aggregate(cohort).lam, atol=1e-9)

    def test_preferences_are_still_solved_with_the_gram_matrix(self):
        limit = Constraint(coefficients=((3, -1.0),), at_most=-0.1)
        lam = FedMGDA(constraints=(limit,)).aggregate(self.crowd(3.0)).lam
        assert lam[3] == pytest.approx(0.1, abs=1e-8)

    @pytest.mark.parametrize(("policy", "stalled"), [("stall", True), ("drop", False)])
    def test_policies_for_zero_updates_hold(self, policy, stalled):
        found = FedMGDA(zero_update=policy).aggregate(self.crowd(3.0))
        assert found.stalled == stalled
        assert (found.lam[[5, 70]] > 0.0).tolist() == [stalled, stalled]
        with pytest.raises(ZeroUpdateError, match="client 5, 70"):
            FedMGDA(zero_update="error").aggregate(self.crowd(3.0))


class OnlyProducts:
    """Updates of which the rows stay where they are."""

    def __init__(self, updates):
        self._updates, self.asked = updates, False

    def __getattr__(self, name):
        self.asked |= name == "normalized_gramian"
        return getattr(self._updates, name)


class TestZeroUpdates:
    cohort = cohort_of([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]], num_examples=[1, 1, 3])

    @pytest.mark.parametrize("rule", [FedMGDA(), FedAvg(normalize=True)])
    def test_drop_leaves_the_client_out_and_counts_it(self, rule):
        result = rule.aggregate(self.cohort)
        assert result.direction == pytest.approx([0.5, 0.5])
        assert result.lam == pytest.approx([0.0, 0.5, 0.5])
        assert result.dropped == (0,)

    def test_drop_renormalises_the_center(self):
        result = FedAvg(normalize=True, center="examples").aggregate(self.cohort)
        assert result.lam == pytest.approx([0.0, 0.25, 0.75])

    @pytest.mark.parametrize(
        "rule", [FedMGDA(zero_update="stall"), FedMGDA(normalize=False, zero_update="stall")]
    )
    def test_stall_keeps_the_model(self, rule):
        result = rule.aggregate(self.cohort)
        assert result.norm == 0.0
        assert result.lam == pytest.approx([1.0, 0.0, 0.0])
        assert result.dropped == ()

    def test_error_names_the_client_and_the_remedy(self):
        with pytest.raises(ZeroUpdateError, match=r"client 0 is zero.*'drop'"):
            FedMGDA(zero_update="error").aggregate(self.cohort)

    @pytest.mark.parametrize(
        "rule",
        [
            FedMGDA(),
            FedMGDA(epsilon=0.0),
            FedAvg(normalize=True),
            FedAvg(normalize=True, center="examples"),
        ],
    )
    def test_all_zero_keeps_the_model(self, rule):
        result = rule.aggregate(cohort_of(np.zeros((3, 2))))
        assert result.norm == 0.0
        assert result.dropped == (0, 1, 2)


@pytest.mark.parametrize("epsilon", [-0.1, 1.5, np.nan])
def test_epsilon_outside_its_range_is_refused(epsilon):
    with pytest.raises(ValueError, match=r"epsilon must lie in \[0, 1\], got"):
        FedMGDA(epsilon=epsilon)


def test_a_single_user_gets_a_unit_step():
    assert aggregate(FedMGDA(), cohort_of([[3.0, 4.0]])).direction == pytest.approx([0.6, 0.8])
