from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import RULES, aggregate, cohort_of, cohorts
from fedmgda.federation import Reply, admit, collect

PARAMS = np.zeros(3)
GOOD = np.array([1.0, 2.0, 3.0])
MODEL = "not float64 of shape (3,)"


def cohort(**changes):
    return replace(cohort_of(np.tile(GOOD, (3, 1))), **changes)


def reply(client_id, **changes):
    fields = {"round_num": 4, "update": GOOD, "num_examples": 10, "loss": 0.5, "run": "r"}
    return Reply(client_id=client_id, **(fields | changes))


def reasons(failures):
    return {failure.client_id: failure.reason for failure in failures}


@given(cohorts(dtype=np.float32))
def test_what_is_in_order_passes_untouched(cohort):
    good, failures = admit(
        cohort, np.zeros(cohort.updates.num_columns, np.float32), cohort.client_ids
    )
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


def test_local_losses_are_only_recorded_whatever_they_are():
    told = np.array([np.nan, np.inf, -1.0])
    updates = np.array([GOOD, GOOD, np.full(3, np.nan)])
    good, _ = admit(cohort(local_losses=told), PARAMS, (0, 1, 2))
    np.testing.assert_array_equal(good.local_losses, told)
    good, _ = admit(cohort(local_losses=told, updates=updates), PARAMS, (0, 1, 2))
    np.testing.assert_array_equal(good.local_losses, told[:2])


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
        "no reply",
        "no reply",
    ]


def test_a_client_that_is_in_neither_list_is_missed():
    kept = cohort().select(np.array([True, False, True]))
    good, failures = admit(kept, PARAMS, (0, 1, 2))
    assert good.client_ids == (0, 2)
    assert reasons(failures) == {1: "no reply"}


@pytest.mark.parametrize("updates", [np.zeros((3, 1)), np.zeros((3, 3), np.float32)])
def test_a_matrix_of_another_shape_or_dtype_is_quarantined_whole(updates):
    good, failures = admit(cohort(updates=updates), PARAMS, (0, 1, 2))
    assert good.client_ids == ()
    assert len(failures) == 3
    assert "not float64 of length 3" in failures[0].reason


@pytest.mark.parametrize(
    ("buffers", "reason"),
    [(None, "0 buffers came back, not 1"), (np.ones((3, 2)), "2 buffers came back, not 1")],
)
def test_buffers_of_another_model_are_quarantined_whole(buffers, reason):
    good, failures = admit(cohort(buffers=buffers), np.zeros(4), (0, 1, 2), num_buffers=1)
    assert good.client_ids == ()
    assert reasons(failures) == dict.fromkeys((0, 1, 2), reason)


def test_a_buffer_that_is_not_finite_quarantines_its_client():
    buffers = np.array([[1.0], [np.nan], [np.inf]])
    good, failures = admit(cohort(buffers=buffers), np.zeros(4), (0, 1, 2), num_buffers=1)
    assert good.client_ids == (0,)
    assert reasons(failures) == dict.fromkeys((1, 2), "NaN or Inf in the buffers")


def test_an_update_too_long_for_any_gram_matrix_is_quarantined():
    updates = np.tile(GOOD, (3, 1))
    updates[1, 0] = 1e200
    good, failures = admit(cohort(updates=updates), PARAMS, (0, 1, 2))
    assert good.client_ids == (0, 2)
    assert reasons(failures) == {1: "the square of the update is beyond float64"}


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
            ({"update": np.ones(1)}, f"update is float64 of shape (1,), {MODEL}"),
            ({"update": np.ones((3, 1))}, f"update is float64 of shape (3, 1), {MODEL}"),
            ({"update": np.ones(3, np.float32)}, f"update is float32 of shape (3,), {MODEL}"),
            ({"update": np.ones(3, int)}, f"update is int64 of shape (3,), {MODEL}"),
            ({"update": {"wrong": "keys"}}, "update is a dict, not a plain array"),
            ({"update": None}, "update is a NoneType, not a plain array"),
            ({"update": np.ma.ones(3)}, "update is a MaskedArray, not a plain array"),
            ({"num_examples": "many"}, "num_examples is a str, not a real number"),
            ({"num_examples": True}, "num_examples is a bool, not a real number"),
            ({"num_examples": 1j}, "num_examples is a complex, not a real number"),
            ({"num_examples": 10**400}, "num_examples does not fit a float64"),
            ({"loss": None}, "loss is a NoneType, not a real number"),
            ({"loss": np.complex64(1)}, "loss is a complex64, not a real number"),
            ({"loss": np.ones(1)}, "loss is a ndarray, not a real number"),
            ({"loss": 10**5000}, "loss does not fit a float64"),
            ({"round_num": 3}, "reply to round 3 of run 'r', not 4 of 'r'"),
            ({"round_num": np.array([4, 4])}, "round_num is a ndarray, not a whole number"),
            ({"round_num": 10**5000}, "round_num does not fit 64 bits"),
            ({"run": "other"}, "reply to round 4 of run 'other', not 4 of 'r'"),
            ({"run": np.array(["r", "r"])}, "run is a ndarray, not a string"),
        ],
    )
    def test_what_cannot_be_a_row_is_a_failure(self, changes, reason):
        cohort = self.collect(reply(3), reply(5, **changes), reply(7))
        assert cohort.client_ids == (3, 7)
        assert reasons(cohort.failures) == {5: reason}

    @pytest.mark.parametrize(
        ("client_id", "reason"),
        [
            ([0], "client_id is a list, not a whole number"),
            (True, "client_id is a bool, not a whole number"),
            (5.0, "client_id is a float, not a whole number"),
            (np.array([5, 5]), "client_id is a ndarray, not a whole number"),
            pytest.param(10**5000, "client_id does not fit 64 bits", id="huge"),
        ],
    )
    def test_a_reply_that_does_not_say_who_sent_it_is_nobodys(self, client_id, reason):
        cohort = collect((reply(3), reply(client_id)), PARAMS, (1, 3, 5), ("r", 4))
        assert cohort.client_ids == (3,)
        assert reasons(cohort.failures) == {-1: reason, 1: "no reply", 5: "no reply"}

    @pytest.mark.parametrize("junk", [None, b"noise", {"client_id": 5}])
    def test_what_is_not_a_reply_is_nobodys(self, junk):
        cohort = self.collect(reply(3), junk, reply(5), reply(7))
        assert cohort.client_ids == (3, 5, 7)
        assert reasons(cohort.failures) == {-1: "not a reply"}

    def test_the_local_loss_and_the_buffers_come_through(self):
        params, moved = np.zeros(4), np.array([0.5])
        replies = [reply(3, local_loss=0.25, buffers=moved), reply(5, buffers=None)]
        cohort = collect(replies, params, (3, 5), ("r", 4), num_buffers=1)
        assert (cohort.client_ids, cohort.local_losses.tolist()) == ((3,), [0.25])
        assert cohort.buffers.tolist() == [[0.5]]
        assert reasons(cohort.failures) == {5: "buffers is a NoneType, not a plain array"}

    def test_ids_and_numbers_of_numpy_are_as_good_as_any(self):
        cohort = self.collect(reply(np.int64(3), num_examples=np.uint8(9), loss=np.float32(0.5)))
        assert [type(client) for client in cohort.client_ids] == [int]
        assert (cohort.num_examples.tolist(), cohort.losses.tolist()) == ([9.0], [0.5])

    def test_a_replayed_reply_is_ignored_and_counted(self):
        forged = reply(3, update=-GOOD)
        cohort = self.collect(reply(3), forged, reply(5), reply(7), reply(8))
        np.testing.assert_array_equal(cohort.updates.rows[0], GOOD)
        assert reasons(cohort.failures) == {3: "duplicate reply", 8: "not asked in this round"}

    def test_a_client_that_stays_silent_is_named(self):
        assert reasons(self.collect(reply(3)).failures) == {5: "no reply", 7: "no reply"}

    def test_nobody_replied(self):
        cohort = self.collect()
        assert cohort.updates.rows.shape == (0, 3)
        assert len(cohort.failures) == 3


@given(st.data())
def test_no_rule_ever_sees_anything_but_finite_numbers(data):
    drawn = data.draw(cohorts(max_clients=6))
    junk = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 1e150, 1e300])
    m = len(drawn.client_ids)
    updates = drawn.updates.rows.copy()
    updates[data.draw(st.integers(0, m - 1)), 0] = data.draw(junk)
    spoiled = replace(
        drawn,
        updates=updates,
        losses=np.array(data.draw(st.lists(junk, min_size=m, max_size=m))),
        num_examples=np.array(data.draw(st.lists(junk, min_size=m, max_size=m))),
    )
    good, failures = admit(spoiled, np.zeros(updates.shape[1]), drawn.client_ids)
    assert len(good.client_ids) + len(failures) == m
    if good.client_ids:
        for rule in RULES.values():
            assert np.isfinite(aggregate(rule, good, m).direction).all()
