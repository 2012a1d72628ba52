"""Who blocks a round, by leaving clients out of the Gram matrix."""

import numpy as np
from hypothesis import given, settings, strategies as st

from fedmgda.experiments._conflict import fewer_participants, find_conflict
from fedmgda.minnorm import min_norm
from fedmgda.values import NO_DIRECTION


def length(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return min_norm(unit @ unit.T).norm


@settings(max_examples=30)
@given(st.integers(2, 30), st.integers(1, 5), st.integers(0, 2**32))
def test_a_conflict_is_minimal_and_its_blockers_are_all_there_are(m, d, seed):
    rows = np.random.default_rng(seed).normal(size=(m, d)) + 0.3
    found = find_conflict(rows @ rows.T)
    stalls = length(rows) <= NO_DIRECTION
    assert (found is not None) == stalls
    if found is None:
        return
    members = list(found.members)
    assert length(rows[members]) <= NO_DIRECTION
    for member in members:
        rest = [i for i in members if i != member]
        assert not rest or length(rows[rest]) > NO_DIRECTION
    alone = {i for i in range(m) if m > 1 and length(np.delete(rows, i, axis=0)) > NO_DIRECTION}
    assert set(found.blocking) == alone


def test_the_one_that_sends_the_opposite_of_everybody_blocks():
    rows = np.random.default_rng(0).normal(size=(40, 100)) + 1.0
    rows[13] = -np.delete(rows, 13, axis=0).mean(axis=0)
    found = find_conflict(rows @ rows.T)
    assert found.blocking[0] == 13


def test_two_opposed_clients_block_together():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.1, 1.0]])
    assert set(find_conflict(rows @ rows.T).blocking) == {0, 1}


def test_a_client_at_rest_is_in_no_conflict():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    assert set(find_conflict(rows @ rows.T).members) == {0, 2}


def test_fewer_participants_have_a_direction():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 10)) + 0.1
    size = fewer_participants(rows @ rows.T)
    assert size in {10, 14}  # 14 by Wendel's theorem, fewer if the draws say so
    draws = [length(rows[rng.permutation(160)[:size]]) for _ in range(50)]
    assert np.mean(np.array(draws) > NO_DIRECTION) > 0.9
    opposed = np.vstack((np.eye(30), -np.eye(30)[:1]))  # one pair alone stands in the way
    assert 2 <= fewer_participants(opposed @ opposed.T) <= 10
    assert fewer_participants(np.array([[1.0, -1.0], [-1.0, 1.0]])) is None
