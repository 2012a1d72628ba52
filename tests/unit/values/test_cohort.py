"""A cohort fits together, or is not made."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from cohorts import cohort_of, cohorts
from fedmgda import Cohort
from fedmgda.values import DenseUpdates, Failure, FileUpdates

ROWS = [[1.0, 2.0], [3.0, 4.0]]


def cohort(**changes):
    parts = {"client_ids": (4, 7), "updates": ROWS, "num_examples": [1, 2], "losses": [0.1, 0.2]}
    return Cohort(**(parts | changes))


def test_three_ids_and_two_rows_are_refused():
    with pytest.raises(ValueError, match=r"updates must have a row for each of the 3 client_ids"):
        cohort(client_ids=(1, 2, 3), num_examples=[1, 1, 1], losses=[1, 1, 1])


@pytest.mark.parametrize("field", ["num_examples", "losses", "local_losses", "before"])
@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0, 1.0], [[1.0], [1.0]], 1.0])
def test_a_column_has_an_entry_for_each_client(field, values):
    with pytest.raises(ValueError, match=f"{field} must have an entry for each of the 2 client_id"):
        cohort(**{field: values})


@pytest.mark.parametrize("field", ["updates", "num_examples", "losses", "buffers", "gradients"])
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (np.ma.ones((2, 2)), "is a masked array"),
        (np.ones((2, 2), complex), "must be real numbers, got an array of complex128"),
        (np.ones((2, 2), bool), "must be real numbers, got an array of bool"),
        ([["a", "b"], ["c", "d"]], "must be real numbers, got an array of <U1"),
        ([[1.0, 2.0], [3.0]], "of type list cannot be read as an array"),
        ([[None, 1.0], [1.0, 1.0]], "must be real numbers, got an array of object"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_in_a_sentence(field, values, sentence):
    with pytest.raises(ValueError, match=f"^{field} {sentence}"):
        cohort(**{field: values})


@pytest.mark.parametrize("ids", [(True, 1), (0.0, 1), ("0", 1), (None, 1)])
def test_ids_are_whole_numbers(ids):
    with pytest.raises(ValueError, match="client_ids must be whole numbers, got"):
        cohort(client_ids=ids)


def test_lists_whole_numbers_and_tensors_are_understood():
    torch = pytest.importorskip("torch")
    for rows in (ROWS, np.array(ROWS, np.int64), torch.tensor(ROWS, dtype=torch.float64)):
        made = cohort(updates=rows, client_ids=np.array([4, 7]))
        np.testing.assert_array_equal(made.updates.rows, ROWS)
        assert made.updates.dtype == np.float64
        assert made.client_ids == (4, 7)
        assert {type(client) for client in made.client_ids} == {int}
    assert cohort(updates=torch.tensor(ROWS)).updates.dtype == np.float32


def test_a_tensor_that_is_no_array_is_refused_with_what_torch_says():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^updates of type Tensor cannot be read .* NumPy array"):
        cohort(updates=torch.tensor(ROWS, requires_grad=True))


@pytest.mark.parametrize("field", ["num_examples", "losses"])
def test_a_part_that_every_rule_may_read_cannot_be_missing(field):
    with pytest.raises(ValueError, match=f"{field} must"):
        cohort(**{field: None})


def test_failures_are_failures():
    with pytest.raises(ValueError, match="failures must be Failure values, got 3"):
        cohort(failures=(3,))


def test_nobody_is_a_cohort_too():
    empty = cohort(client_ids=(), updates=[], num_examples=[], losses=[])
    assert (empty.client_ids, empty.updates.num_rows) == ((), 0)


@given(cohorts())
def test_selecting_everyone_copies_nothing(drawn):
    assert drawn.select(np.ones(len(drawn.client_ids), bool)) is drawn


def test_selecting_takes_the_rows_of_every_part():
    failures = (Failure(client_id=9, reason="no reply"),)
    made = replace(
        cohort_of([[1.0], [2.0], [3.0]]), failures=failures, local_losses=[1, 2, 3],
        before=[4, 5, 6], buffers=[[7], [8], [9]], gradients=[[1.5], [2.5], [3.5]],
    )  # fmt: skip
    kept = made.select(np.array([True, False, True]))
    assert kept.client_ids == (0, 2)
    assert kept.failures == failures
    found = [kept.updates.rows, kept.gradients.rows, kept.buffers, kept.local_losses, kept.before]
    assert [np.asarray(part).ravel().tolist() for part in found] == [
        [1, 3], [1.5, 3.5], [7, 9], [1, 3], [4, 6],
    ]  # fmt: skip


def test_updates_of_any_kind_are_kept_as_they_are(tmp_path):
    for updates in (
        DenseUpdates(np.array(ROWS)),
        FileUpdates.write(tmp_path / "rows", np.array(ROWS), 2),
    ):
        assert cohort(updates=updates).updates is updates
    with pytest.raises(ValueError, match=r"row for each of the 3 client_ids, got 2\."):
        cohort(client_ids=(1, 2, 3), updates=updates, num_examples=[1] * 3, losses=[1] * 3)
