"""Bad clients by the thousand: nobody honest is lost, and the round is that without the bad.

The default run takes some hundreds of rounds; `-m torture` the others, up to 20,000 with those that
come over Flower. A failure names the seed of its round: `one_round(SEED)` makes it again.
"""

import pytest

import hostile_replies
from hostile_cohorts import LIES, ROW_KINDS, VOTES, check, draw, rows_of, spoilt_votes, survived

FEW, ALL = 300, 6_000


def one_round(seed):
    case = draw(seed, ROW_KINDS, VOTES)
    check(case, rows_of(case), spoilt_votes(case), frozenset(LIES))


def test_rows_of_a_pool():
    assert survived(range(FEW), one_round) == []


@pytest.mark.torture
def test_all_rows_of_a_pool():
    assert survived(range(ALL), one_round) == []


def one_round_of_replies(seed):
    case = draw(seed, hostile_replies.KINDS, (), allowed=False)
    check(case, hostile_replies.replies_of(case), None, frozenset(hostile_replies.LIES))


def test_replies_of_any_form():
    assert survived(range(FEW), one_round_of_replies) == []


@pytest.mark.torture
def test_all_replies_of_any_form():
    assert survived(range(ALL), one_round_of_replies) == []
