from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohorts import RULES, aggregate, cohort_of, cohorts
from fedmgda.federation import Reply, admit, collect

PARAMS = np.zeros(3)
GOOD = np.array([1.0, 2.0, 3.0])


def cohort(**changes):
    return replace(cohort_of(np.tile(GOOD, (3, 1))), **changes)


def reply(client_id, **changes):
    fields = {"round_num": 4, "update": GOOD, "num_examples": 10, "loss": 0.5, "run": "r"}
    return Reply(client_id=client_id, **(fields | changes))


def reasons(failures):
    return {failure.client_id: failure.reason for failure in failures}


@given(cohorts(dtype=np.float32))
def test_what_is_in_order_passes_untouched(cohort):
    good, failures = admit(cohort, np.zeros(cohort.updates.shape[1], np.float32), cohort.client_ids)
    assert good is cohort
    assert failures == ()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("num_examples", 0.0, "num_examples is 0"),
        ("num_examples", -5.0, "num_examples is -5"),
        ("num_examples", np.nan, "num_examples is nan"),
        ("num_examples", np.inf, "num_examples is inf"),
        ("num_examples", 1e30, "num_examples is 1e+30"),
        ("losses", np.nan, "loss is nan"),
        ("losses", np.inf, "loss is inf"),
        ("losses", -0.1, "loss is -0.1"),
    ],
)
def test_a_number_that_cannot_be_true_is_quarantined(field, value, reason):
    values = np.ones(3)
    values[1] = value
    good, failures = admit(cohort(**{field: values}), PARAMS, (0, 1, 2))
    assert good.client_ids == (0, 2)
    assert reasons(failures) == {1: reason}


@pytest.mark.parametrize(
    ("junk", "reason"),
    [(np.nan, "1 NaN in the update"), (np.inf, "1 Inf in the update")],
)
def test_an_update_that_is_not_finite_is_quarantined(junk, reason):
    updates = np.tile(GOOD, (3, 1))
    updates[2, 0] = junk
    good, failures = admit(cohort(updates=updates), PARAMS, (0, 1, 2))
    assert good.client_ids == (0, 1)
    assert reasons(failures) == {2: reason}


def test_large_finite_values_are_not_mistaken_for_infinite_ones():
    updates = np.full((3, 3), 3e38, dtype=np.float32)
    good, failures = admit(cohort(updates=updates), PARAMS.astype(np.float32), (0, 1, 2))
    assert len(good.client_ids) == 3
    assert failures == ()


def test_opposite_infinities_do_not_cancel():
    updates = np.tile(GOOD, (3, 1))
    updates[0] = [np.inf, -np.inf, 0.0]
    assert reasons(admit(cohort(updates=updates), PARAMS, (0, 1, 2))[1]) == {
        0: "2 Inf in the update"
    }


def test_a_client_counts_once_and_only_if_it_was_asked():
    good, failures = admit(cohort(client_ids=(0, 0, 9)), PARAMS, (0, 1, 2))
    assert good.client_ids == (0,)
    assert [failure.reason for failure in failures] == [
        "duplicate reply",
        "not asked in this round",
    ]


@pytest.mark.parametrize("updates", [np.zeros((3, 1)), np.zeros((3, 3), np.float32)])
def test_a_matrix_of_another_shape_or_dtype_is_quarantined_whole(updates):
    good, failures = admit(cohort(updates=updates), PARAMS, (0, 1, 2))
    assert good.client_ids == ()
    assert len(failures) == 3
    assert "not float64 of shape (3, 3)" in failures[0].reason


class TestCollect:
    def collect(self, *replies):
        return collect(replies, PARAMS, (3, 5, 7), ("r", 4))

    def test_replies_become_rows_in_the_order_they_were_asked(self):
        cohort = self.collect(reply(7), reply(3), reply(5))
        assert cohort.client_ids == (3, 5, 7)
        np.testing.assert_array_equal(cohort.updates, np.tile(GOOD, (3, 1)))
        assert cohort.failures == ()

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"update": np.ones(1)}, "update has shape (1,), the model (3,)"),
            ({"update": np.ones((3, 1))}, "update has shape (3, 1), the model (3,)"),
            ({"update": np.ones(3, np.float32)}, "update is float32, the model float64"),
            ({"update": np.ones(3, int)}, "update is int64, the model float64"),
            ({"update": {"wrong": "keys"}}, "update is a dict, not an array"),
            ({"update": None}, "update is a NoneType, not an array"),
            ({"num_examples": "many"}, "num_examples is a str, not a number"),
            ({"num_examples": True}, "num_examples is a bool, not a number"),
            ({"loss": None}, "loss is a NoneType, not a number"),
            ({"round_num": 3}, "reply to round 3 of run 'r', not 4 of 'r'"),
            ({"run": "other"}, "reply to round 4 of run 'other', not 4 of 'r'"),
        ],
    )
    def test_what_cannot_be_a_row_is_a_failure(self, changes, reason):
        cohort = self.collect(reply(3), reply(5, **changes), reply(7))
        assert cohort.client_ids == (3, 7)
        assert reasons(cohort.failures) == {5: reason}

    def test_a_replayed_reply_is_ignored_and_counted(self):
        forged = reply(3, update=-GOOD)
        cohort = self.collect(reply(3), forged, reply(5), reply(7), reply(8))
        np.testing.assert_array_equal(cohort.updates[0], GOOD)
        assert reasons(cohort.failures) == {3: "duplicate reply", 8: "not asked in this round"}

    def test_a_client_that_stays_silent_is_named(self):
        assert reasons(self.collect(reply(3)).failures) == {5: "no reply", 7: "no reply"}

    def test_nobody_replied(self):
        cohort = self.collect()
        assert cohort.updates.shape == (0, 3)
        assert len(cohort.failures) == 3


@given(st.data())
def test_no_rule_ever_sees_anything_but_finite_numbers(data):
    drawn = data.draw(cohorts(max_clients=6))
    junk = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 1e300])
    m = len(drawn.client_ids)
    updates = drawn.updates.copy()
    updates[data.draw(st.integers(0, m - 1)), 0] = data.draw(junk)
    spoiled = replace(
        drawn,
        updates=updates,
        losses=np.array(data.draw(st.lists(junk, min_size=m, max_size=m))),
        num_examples=np.array(data.draw(st.lists(junk, min_size=m, max_size=m))),
    )
    good, failures = admit(spoiled, np.zeros(updates.shape[1]), drawn.client_ids)
    assert len(good.client_ids) + len(failures) == m
    if good.client_ids and np.abs(good.updates).max() < 1e100:
        for rule in RULES.values():
            assert np.isfinite(aggregate(rule, good, m).direction).all()
