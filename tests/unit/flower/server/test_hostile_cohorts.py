"""Bad clients over Flower's wire format, by the thousand: the law is that of any other round.

A failure names the seed of its round: `one_round(SEED)` makes it again.
"""

import pytest

from hostile_answers import LIES, Federation, drawn, no_time_passes
from hostile_cohorts import check, survived

FEW, ALL = 300, 5_000


@pytest.fixture(scope="module")
def federation():
    return Federation()


def one_round(federation, seed):
    case = drawn(seed, federation.clients.num_params)
    check(case, *federation.rounds(case), frozenset(LIES))


def survived_over_the_grid(federation, seeds):
    with no_time_passes():
        return survived(seeds, lambda seed: one_round(federation, seed))


def test_answers_over_the_grid(federation):
    assert survived_over_the_grid(federation, range(FEW)) == []


@pytest.mark.torture
def test_all_answers_over_the_grid(federation):
    assert survived_over_the_grid(federation, range(ALL)) == []
