"""What would not go together is refused before anything is trained."""

from __future__ import annotations

import pytest

from fedmgda._errors import StoreError
from fedmgda.experiments import RunFolder, plan_comparison, refuse_other_runs
from runs import carry_on
from tables import write_table

CLIENTS = {"per_round": 2, "client_lr": 0.3}


@pytest.fixture
def begun(tmp_path):
    """Return a folder with the first run of a comparison, and the spec of it."""
    table = {
        "rounds": 2,
        "data": write_table(tmp_path / "rows.csv"),
        "clients": CLIENTS,
        "engine": {"checkpoint_seconds": 0.0},
    }
    (mine, *_) = plan_comparison(table)
    RunFolder.create(tmp_path / "x" / mine.folder_name, mine.spec)
    carry_on(tmp_path / "x" / mine.folder_name)
    return tmp_path / "x", table


@pytest.mark.parametrize("seeds", [None, [0, 1]])
def test_runs_of_the_same_spec_and_data_are_taken_up(begun, seeds):
    path, table = begun
    refuse_other_runs(path, plan_comparison(table, seeds))


@pytest.mark.parametrize("seeds", [None, [0, 1]])
def test_data_that_has_changed_is_refused(begun, seeds):
    path, table = begun
    rows = path.parent / "rows.csv"
    rows.write_text(rows.read_text() + "north,0.5,0.5,no\n")
    with pytest.raises(StoreError, match=r"fedmgda\+ began; .* --out .*x-2$"):
        refuse_other_runs(path, plan_comparison(table, seeds))


def test_another_spec_is_refused_with_a_place_that_is_free(begun):
    path, table = begun
    path.with_name("x-2").mkdir()
    with pytest.raises(StoreError, match=r"another spec, or its data .* --out .*x-3$"):
        refuse_other_runs(path, plan_comparison(table | {"rounds": 3}))


def test_what_is_finished_needs_no_data(begun):
    path, table = begun
    (path.parent / "rows.csv").unlink()
    refuse_other_runs(path, plan_comparison(table)[:1])
