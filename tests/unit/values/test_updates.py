"""What a server learns of updates does not depend on where they lie."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cohorts import cohort_of, cohorts
from fedmgda.minnorm import _gramian, gramian, normalized_gramian
from fedmgda.rules import FedMGDA
from fedmgda.values import DenseUpdates, FileUpdates, Updates, Weighing, _file, aggregate


def assert_same_bits(one, other):
    direction = one.combine(np.linspace(-1.0, 2.0, one.num_rows))
    np.testing.assert_array_equal(one.norms(), other.norms())
    np.testing.assert_array_equal(one.gramian(), other.gramian())
    for mine, theirs in zip(one.normalized_gramian(), other.normalized_gramian(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(direction, other.combine(np.linspace(-1.0, 2.0, one.num_rows)))
    np.testing.assert_array_equal(one.inner(direction), other.inner(direction))
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert one.faults() == other.faults()


@given(cohorts(dtype=np.float32, with_zeros=True), st.sampled_from([np.float32, np.float64]))
def test_rows_in_a_file_give_the_bits_of_rows_in_memory(tmp_path_factory, cohort, dtype):
    rows = cohort.updates.rows.astype(dtype)
    path = tmp_path_factory.mktemp("updates") / "rows"
    filed = FileUpdates.write(path, rows, rows.shape[1])
    assert isinstance(filed, Updates)
    assert_same_bits(DenseUpdates(rows), filed)
    kept = np.arange(len(rows))[::2]
    assert_same_bits(DenseUpdates(rows).select(kept), filed.select(kept))


@pytest.mark.parametrize("exact", [True, False])
def test_panels_of_a_wide_file_meet_without_a_seam(tmp_path, monkeypatch, exact):
    monkeypatch.setattr(_file, "_PANEL_BYTES", 1 << 15)
    if not exact:
        monkeypatch.setattr(_gramian, "EXACT_PRODUCTS", 0.0)
    rows = np.random.default_rng(1).normal(size=(7, 200_003)).astype(np.float32)
    assert_same_bits(DenseUpdates(rows), FileUpdates.write(tmp_path / "rows", rows, rows.shape[1]))


def test_wild_rows_in_a_file_are_scaled_as_in_memory(tmp_path):
    rows = np.array([[3e38, 1.0], [1e-38, 2e-38], [1.0, -1.0]], np.float32)
    assert_same_bits(DenseUpdates(rows), FileUpdates.write(tmp_path / "rows", rows, 2))


def test_the_gram_matrices_are_those_of_the_solver():
    rows = np.random.default_rng(2).normal(size=(5, 9))
    updates = DenseUpdates(rows)
    for _ in range(2):  # the second answer comes from the first
        np.testing.assert_array_equal(updates.gramian(), gramian(rows))
        np.testing.assert_array_equal(updates.normalized_gramian()[0], normalized_gramian(rows)[0])


def test_nobody_writes_to_updates_that_were_sent():
    sent = np.ones((2, 3))
    with pytest.raises(ValueError, match="read-only"):
        DenseUpdates(sent).rows[0] = 0.0
    with pytest.raises(ValueError, match=r"direction must have shape \(3,\), got \(2,\)"):
        DenseUpdates(sent).inner(np.ones(2))


def test_rows_that_no_rule_may_use_are_named(tmp_path):
    rows = np.array([[1.0, 1.0], [np.nan, np.inf], [-np.inf, np.inf], [1e200, 0.0]])
    for updates in (DenseUpdates(rows), FileUpdates.write(tmp_path / "rows", rows, 2)):
        assert updates.faults() == [
            None, "1 NaN in the update", "2 Inf in the update",
            "the square of the update is beyond float64",
        ]  # fmt: skip


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "rows").write_bytes(b"12345")
    with pytest.raises(ValueError, match="must hold rows of 2 numbers of type float32 or float64"):
        FileUpdates(tmp_path / "rows", 2)
    with pytest.raises(ValueError, match=r"A row must be float64 of shape \(3,\), got"):
        FileUpdates.write(tmp_path / "more", [np.ones(2)], 3)
    with pytest.raises(ValueError, match=r"A row must be float64 of shape .* got float32"):
        FileUpdates.write(tmp_path / "mixed", [np.ones(2), np.ones(2, np.float32)], 2)
    with pytest.raises(FileExistsError):
        FileUpdates.write(tmp_path / "rows", [np.ones(2)], 2)


def test_a_file_that_is_cut_while_it_is_used_is_noticed(tmp_path):
    updates = FileUpdates.write(tmp_path / "rows", np.ones((3, 4)), 4)
    (tmp_path / "rows").write_bytes(b"\0" * 40)
    with pytest.raises(ValueError, match="became shorter while it was read"):
        updates.norms()


@pytest.mark.parametrize(
    ("weighing", "sentence"),
    [
        (Weighing(weights=np.ones(3), lam=np.ones(2)), "A rule must give 2 weights"),
        (Weighing(weights=np.ones(2), lam=np.array([1.0, np.nan])), "must be finite numbers"),
        (Weighing(weights=np.ones(2) * 1j, lam=np.ones(2)), "must be finite numbers"),
        (Weighing(weights=np.ones(2), lam=np.ones(2), gap="x"), "The gap of a rule must be zero"),
        (Weighing(weights=np.ones(2), lam=np.ones(2), gap=np.nan), "The gap of a rule must be"),
        (Weighing(weights=np.ones(2), lam=np.ones(2), dropped=(9,)), "A rule dropped 9, which is"),
        (Weighing(weights=np.ones(2), lam=np.ones(2), direction=[1.0, 2.0]), "array of floats"),
        (Weighing(weights=np.ones(2), lam=np.ones(1)), "A rule must give 2 lam"),
        (
            Weighing(weights=np.ones(2), lam=np.ones(2), direction=np.ones(5)),
            "A rule must give a direction of 2 entries",
        ),
    ],
)
def test_a_rule_that_weighs_something_else_is_refused(weighing, sentence):
    with pytest.raises(ValueError, match=sentence):
        aggregate(cohort_of([[1.0, 0.0], [0.0, 1.0]]), weighing)


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from fedmgda import Cohort
from fedmgda.rules import FedMGDA
from fedmgda.values import FileUpdates
m, d, limit = map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
rng = np.random.default_rng(3)
shared = rng.standard_normal(d, np.float32)
rows = (shared + np.random.default_rng(i).standard_normal(d, np.float32) for i in range(m))
updates = FileUpdates.write(Path(sys.argv[1]) / "rows", rows, d)
cohort = Cohort(client_ids=range(m), updates=updates, num_examples=np.ones(m), losses=np.ones(m))
result = FedMGDA().aggregate(cohort)
np.savez(Path(sys.argv[1]) / "result.npz", lam=result.lam, direction=result.direction)
"""


def aggregated_under_a_limit(folder, m, d, limit):
    # All of the environment: it may name the kernels that linear algebra shall take.
    more = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path)}
    environment = {**os.environ, **more}
    command = [sys.executable, "-c", LIMITED, *map(str, (folder, m, d, limit))]
    subprocess.run(command, check=True, timeout=1200, env=environment)
    rows = np.fromfile(folder / "rows", np.float32).reshape(m, d)
    expected = FedMGDA().aggregate(cohort_of(rows, dtype=np.float32))
    with np.load(folder / "result.npz") as found:
        np.testing.assert_array_equal(found["lam"], expected.lam)
        np.testing.assert_array_equal(found["direction"], expected.direction)


def test_a_matrix_larger_than_memory_is_aggregated_from_its_file(tmp_path):
    # 400 MB of rows; code and libraries take 150 MB of the 400 MB the process may have.
    aggregated_under_a_limit(tmp_path, 200, 500_000, limit=400_000_000)


@pytest.mark.slow
def test_a_thousand_clients_of_a_million_parameters_fit_a_gigabyte_and_a_half(tmp_path):
    aggregated_under_a_limit(tmp_path, 1000, 1_000_000, limit=1_500_000_000)
