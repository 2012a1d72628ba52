"""What is published is read back: it gives the numbers that were, and counts as run."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from fedmgda._errors import StoreError
from fedmgda.cli import _app
from fedmgda.paper import (
    Setting,
    export_study,
    load_study,
    open_published,
    plan_study,
    published_results,
    write_report,
)
from fedmgda.paper._collected import read_results
from fedmgda.paper._comparison import cell_name
from fedmgda.paper._report import make_report
from tiny import run_tiny

RESULTS = Path(__file__).parents[3] / "results"
FIXED = sorted(RESULTS.rglob("*-fixed.csv"))
SETTING = Setting(rounds=3, seeds=1, rows=("FedAvg", "FedMGDA+", "c = 1"))


@pytest.mark.parametrize("table", FIXED, ids=lambda path: path.parent.name)
def test_every_fixed_number_is_that_of_the_published_records(table, tmp_path):
    published = open_published(table.parent)
    report = make_report(published.study, published.setting, tmp_path, [published])
    found = {
        (cell_name(published.study, line.cell), line.metric, str(seed)): value
        for line in report.fixed
        for seed, value in line.values.items()
    }
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    stated = {(row["row"], row["metric"], row["seed"]): float(row["value"]) for row in rows}
    assert found == pytest.approx(stated, rel=1e-4, abs=1e-4, nan_ok=True)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two rows of digits-attack, really run for three rounds, and published."""
    study, folder = load_study("digits-attack"), tmp_path_factory.mktemp("study")
    run_tiny(study, SETTING, folder / "runs")
    report = write_report(study, SETTING, folder / "runs")
    export_study(study, SETTING, report, folder / "kept")
    return folder / "kept"


def test_a_published_run_counts_as_run_and_gives_the_same_record(published, tmp_path):
    study, found = load_study("digits-attack"), open_published(published)
    report = write_report(study, SETTING, tmp_path / "again", [found])
    assert [result.done for result in report.results] == [True, True]
    export_study(study, SETTING, report, tmp_path / "copy")
    names = [path.relative_to(published) for path in published.rglob("*") if path.is_file()]
    for name in names:
        if name.suffix in {".xz", ".json", ".toml"}:
            assert (tmp_path / "copy" / name).read_bytes() == (published / name).read_bytes()


def test_only_what_is_not_published_is_run(published, tmp_path, monkeypatch, capsys):
    rows = [word for row in ("FedAvg", "FedMGDA+", "c = 1") for word in ("-r", row)]
    words = ["fedmgda", "reproduce", "digits-attack", "--rounds", "3", "--seeds", "2", *rows]
    folders = ["--from", str(published), "--out", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", [*words, *folders, "--jobs", "1"])
    code, printed = _app.run_app(), capsys.readouterr()
    assert code == 0, printed.err
    assert "2 of 4 runs are taken from what is published." in printed.err
    assert "4 of 4 runs are finished." in printed.out
    assert {path.parent.name for path in (tmp_path / "runs").glob("*/spec.toml")} == {
        "FedAvg_attack=c-=-1_seed=7", "FedMGDA+_attack=c-=-1_seed=7",
    }  # fmt: skip


def test_a_run_in_the_folder_goes_before_the_published_one_once_it_is_finished(published, tmp_path):
    study = load_study("digits-attack")
    runs, kept = plan_study(study, SETTING), [open_published(published)]
    run_tiny(study, replace(SETTING, rows=("FedAvg", "c = 1")), tmp_path)
    own, other = read_results(runs, tmp_path, kept)
    assert len(own.environments) == 1
    whole = published_results(runs, kept)[0]
    assert own.users.losses.tolist() != whole.users.losses.tolist(), "all digits, not five"
    assert other.users.losses.tolist() == published_results(runs, kept)[1].users.losses.tolist()


def test_the_record_of_another_spec_is_refused(published):
    runs = plan_study(load_study("digits-attack"), replace(SETTING, rounds=4))
    with pytest.raises(StoreError, match="record of a run of another spec"):
        published_results(runs, [open_published(published)])


def test_unfinished_runs_do_not_count(published):
    facts = json.loads((published / "setting.json").read_text())
    unfinished = replace(open_published(published), finished=False)
    assert facts["runs_finished"] == 2
    assert published_results(plan_study(load_study("digits-attack"), SETTING), [unfinished]) == []
