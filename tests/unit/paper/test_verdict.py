import math

import pytest

from fedmgda.paper import Number, judge
from fedmgda.paper._published import spread_of_twins
from fedmgda.paper._verdict import rule_text, tolerance

PUBLISHED = Number(mean=70.0, pm=0.5, runs=4)


@pytest.mark.parametrize(
    ("mean", "word"),
    [(70.0, "agrees"), (73.1, "agrees"), (66.9, "agrees"), (73.11, "differs"), (66.89, "differs")],
)
def test_a_number_agrees_within_the_tolerance_plus_the_published_spread(mean, word):
    assert judge(mean, PUBLISHED, "average").word == word


def test_an_obstacle_is_the_verdict_even_for_equal_numbers():
    verdict = judge(70.0, PUBLISHED, "average", "published after 2000 rounds, ours after 3")
    assert verdict.word == "not comparable"
    assert "2000 rounds" in verdict.reason


def test_where_the_paper_prints_nothing_nothing_is_compared():
    assert judge(70.0, None, "average").word == "not comparable"


def test_a_diverged_model_differs():
    assert judge(math.nan, PUBLISHED, "average").word == "differs"


def test_the_tolerances_are_the_spread_of_identical_algorithms_in_the_tables():
    # FedAvg and FedProx x 3 in cifar-user-3: 66.28 to 68.89, std 14.75 to 17.46, 29.90 to 40.93.
    assert spread_of_twins("average") == pytest.approx(68.89 - 66.28)
    assert tolerance("average") == 2.6
    assert [tolerance(m) for m in ("std", "worst5", "best5")] == [2.7, 11.0, 1.0]
    assert tolerance("phd") == 2.6


def test_the_rule_states_the_tolerances_a_study_needs():
    assert "2.6 points" in rule_text(["uniform"])
    assert "std" not in rule_text(["uniform"])
    assert "11.0 for worst5" in rule_text(["average", "worst5"])
