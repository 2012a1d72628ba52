import json
from dataclasses import replace

import pytest

from fedmgda.experiments import RunFolder
from fedmgda.paper import (
    Setting,
    _cost,
    calibrate,
    default_folder,
    elsewhere,
    load_study,
    measured_on,
    plan_study,
    standing,
)
from fedmgda.paper._cost import _costs
from tiny import tiny_study

SETTING = Setting()


def write_timings(run, folder, seconds):
    RunFolder.create(folder, run.spec)
    rows = [{"round": i, "train": s, "evaluate": 0.5} for i, s in enumerate(seconds, 1)]
    (folder / "timings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_cost_that_was_not_measured_here_is_that_of_the_table_and_says_so():
    found = standing(load_study("cifar-user-1"), SETTING)
    assert found.seconds_per_round == _costs()["seconds_per_round"]["cifar-user-1"] > 0
    assert not found.timed_here
    assert measured_on()


def test_a_cost_is_never_made_up():
    found = standing(replace(load_study("cifar-user-1"), name="never-timed"), SETTING)
    assert (found.runs, found.finished, found.rounds) == (104, 0, 104 * 2000)
    assert found.seconds_per_round is None
    assert found.hours is None


def test_a_cost_is_the_measured_pace_times_the_rounds():
    study = load_study("cifar-user-1")
    first, second, *_ = plan_study(study, SETTING)
    write_timings(first, default_folder(study, SETTING) / first.folder_name, [1.5, 2.5])
    write_timings(second, default_folder(study, SETTING) / second.folder_name, [3.5])
    found = standing(study, SETTING)
    assert found.seconds_per_round == pytest.approx((2.5 + 4.0) / 2)
    assert found.hours == pytest.approx(3.25 * 104 * 2000 / 3600)


def test_finished_runs_are_counted_in_the_folder_they_share():
    owner, sharer = load_study("adult-bias"), load_study("fig2-adult")
    for run in plan_study(sharer, SETTING)[:3]:
        folder = default_folder(owner, SETTING) / run.folder_name
        folder.mkdir(parents=True)
        (folder / "DONE").touch()
    assert standing(sharer, SETTING).finished == standing(owner, SETTING).finished == 3
    assert standing(owner, Setting(compat="released-code")).finished == 0


def test_runs_of_other_settings_are_found_and_calibrations_are_not():
    study = load_study("fig1-fmnist")
    for setting in (SETTING, Setting(rounds=500), Setting(rounds=3)):
        for done, run in enumerate(plan_study(study, setting)[:2]):
            folder = default_folder(study, setting) / run.folder_name
            folder.mkdir(parents=True)
            (folder / "spec.toml").touch()
            if done:
                (folder / "DONE").touch()
    assert elsewhere(SETTING) == {default_folder(study, Setting(rounds=500)): (1, 2)}


def test_a_calibration_times_three_rounds_of_one_run_and_only_once(monkeypatch):
    monkeypatch.setattr(_cost, "_SECONDS", 600.0)  # kernels may have to be compiled first
    study = tiny_study("adult-bias")
    assert calibrate(study, SETTING) is None
    (folder,) = default_folder(study, Setting(rounds=3)).iterdir()
    timings = (folder / "timings.jsonl").read_bytes()
    assert timings.count(b"\n") == 3
    assert standing(study, SETTING).seconds_per_round > 0.0
    assert standing(study, SETTING).finished == 0
    calibrate(study, SETTING)
    assert (folder / "timings.jsonl").read_bytes() == timings


def test_a_calibration_that_finds_no_data_says_so_and_leaves_the_cost_open():
    study = tiny_study("adult-bias")
    study = replace(study, sweep={**study.sweep, "data": {"name": "tiny:missing"}})
    assert "tiny:missing" in calibrate(study, SETTING)
    assert not standing(study, SETTING).timed_here
