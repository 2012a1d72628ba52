import numpy as np
import pytest

from cohorts import cohort_of
from fedmgda.federation import Constant, Harmonic, MedianNorm, PaperDecay

COHORT = cohort_of([[3.0, 4.0], [0.0, 1.0], [0.0, 100.0]])


@pytest.mark.parametrize(
    ("decay", "rounds", "beta"),
    [
        (1 / 10, 2000, 0.8913),
        (1 / 40, 3000, 0.8843),
        (1 / 30, 3000, 0.8928),
        (1 / 10, 3000, 0.9261),
    ],
)
def test_the_decay_of_the_paper_every_hundred_rounds(decay, rounds, beta):
    schedule = PaperDecay(server_lr=1.5, decay=decay, num_rounds=rounds)
    steps = [schedule(round_num, COHORT) for round_num in (1, 100, 101, 200, 201)]
    assert steps == pytest.approx([1.5, 1.5, 1.5 * beta, 1.5 * beta, 1.5 * beta**2], rel=2e-4)
    assert schedule(rounds, COHORT) == pytest.approx(1.5 * decay ** (1 - 100 / rounds))


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_both_ways_to_write_no_decay(decay):
    assert PaperDecay(server_lr=2.0, decay=decay, num_rounds=500)(499, COHORT) == 2.0


def test_the_step_of_theorem_2_starts_at_one_over_c():
    schedule = Harmonic(curvature=4.0)
    assert [schedule(t + 1, COHORT) for t in range(3)] == pytest.approx([1 / 4, 1 / 6, 1 / 8])


def test_the_median_norm_is_a_typical_update():
    assert MedianNorm()(1, COHORT) == pytest.approx(5.0)
    assert MedianNorm(server_lr=0.5)(1, COHORT) == pytest.approx(2.5)


def test_constant():
    assert Constant(server_lr=0.7)(123, COHORT) == 0.7
    assert np.isfinite(Constant()(1, COHORT))


@pytest.mark.parametrize("rounds", [1, 3, 100, 101, 350])
def test_a_decay_near_the_largest_number_overflows_in_no_round_of_any_run(rounds):
    schedule = PaperDecay(server_lr=1.0, decay=1e308, num_rounds=rounds)
    assert schedule(1, COHORT) == 1.0
    assert 1.0 <= schedule(rounds, COHORT) <= 1e308
