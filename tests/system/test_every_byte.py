"""One changed byte, anywhere: said in a sentence, or without consequence. Never a traceback.

The default run takes a few bytes of every file; `-m torture` every byte of the small files and
hundreds of the others.
"""

import json

import numpy as np
import pytest

from every_byte import broken_by, call, changed, fault, files_of, places, resumed_otherwise
from runs import finished_run, results, stopped_run
from tables import write_table

FEW, ALL, SOME = 3, 850, 150

SWEEP = """
rounds = 2
[data]
num_clients = 4
[model]
hidden = [2]
[clients]
per_round = 2
[sweep]
seeds = [0, 1]
"""
STUDY = ["reproduce", "digits-attack", "-o", "study", "--seeds", "1", "--rounds", "2", "-j", "1"]
STUDY += ["-c", "model.hidden=[2]", "-r", "FedAvg", "-r", "c = 1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with two finished runs on a table, `a` and `b`."""
    folder = tmp_path_factory.mktemp("every-byte")
    data = write_table(folder / "rows.csv", rows=60, positives=0.4)
    for name, rule in (("a", "fedmgda+"), ("b", "fedavg")):
        table = {"rounds": 2, "data": data, "model": {}, "clients": {}, "rule": {"name": rule}}
        finished_run(folder / name, **table)
    return folder


READ = [
    ["verify", "a"],
    ["resume", "a", "--json"],
    ["report", "a", "b", "-o", "page.html"],
    ["compare", "a", "b"],
    ["compare", "b", "a", "--json"],
    ["predict", "a", "rows.csv"],
    ["verify", "a", "--json"],
    ["resume", "a"],
]


def survived(place, monkeypatch, per_file):
    monkeypatch.chdir(place)
    assert [fault(command) for command in READ] == [None] * len(READ)
    assert broken_by(place / "a", per_file, READ) == []


def test_a_finished_run(place, monkeypatch):
    survived(place, monkeypatch, FEW)


@pytest.mark.torture
def test_all_of_a_finished_run(place, monkeypatch):
    survived(place, monkeypatch, ALL)


def test_what_verify_does_not_notice_is_no_result(place, monkeypatch):
    unnoticed_in(place, monkeypatch, FEW)


@pytest.mark.torture
def test_all_that_verify_does_not_notice_is_no_result(place, monkeypatch):
    unnoticed_in(place, monkeypatch, ALL)


def unnoticed_in(place, monkeypatch, per_file):
    """What [engine] and [records] say changes no result, and is not covered."""
    monkeypatch.chdir(place)
    spec = (place / "a" / "spec.toml").read_bytes()
    free = ("timings.jsonl", "lock", "environment.json", "checkpoints/")
    for name, where, mask in places(place / "a", per_file):
        with changed(place / "a" / name, where, mask):
            code, *_ = call(["verify", "a"])
        uncovered = name == "spec.toml" and where >= spec.index(b"[engine]")
        assert code or name.startswith(free) or uncovered, (name, where, mask)


def carried_on(tmp_path, per_file):
    whole = finished_run(tmp_path / "whole", rounds=4)
    stopped = stopped_run(tmp_path / "stopped", after=3, rounds=4)
    assert "checkpoints/round-00000003.safetensors" in files_of(stopped.path)
    expected = results(whole.path)
    assert resumed_otherwise(stopped.path, tmp_path / "copy", per_file, expected) == []


def test_a_stopped_run_is_refused_or_goes_on_to_the_same_bytes(tmp_path):
    carried_on(tmp_path, FEW)


@pytest.mark.torture
def test_all_of_a_stopped_run_is_refused_or_goes_on_to_the_same_bytes(tmp_path):
    carried_on(tmp_path, SOME)


def summarised(tmp_path, monkeypatch, per_file):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    command = ["sweep", "sweep.toml", "-o", "sweep", "--json"]
    assert fault(command) is None
    assert broken_by(tmp_path / "sweep" / "seed=1", per_file, [command]) == []


def test_a_run_of_a_sweep(tmp_path, monkeypatch):
    summarised(tmp_path, monkeypatch, 1)


@pytest.mark.torture
def test_all_of_a_run_of_a_sweep(tmp_path, monkeypatch):
    summarised(tmp_path, monkeypatch, SOME)


def reported(tmp_path, monkeypatch, per_file, names=None):
    monkeypatch.chdir(tmp_path)
    assert fault(STUDY) is None
    (run,) = [path.parent for path in (tmp_path / "study").glob("*/spec.toml")]
    assert broken_by(run, per_file, [[*STUDY, "--report"]], names) == []


def test_a_run_of_a_study(tmp_path, monkeypatch):
    reported(tmp_path, monkeypatch, 1, ["DONE", "rounds.jsonl", "evaluations.jsonl"])


@pytest.mark.torture
def test_all_of_a_run_of_a_study(tmp_path, monkeypatch):
    reported(tmp_path, monkeypatch, 20)


CACHED = [["data", "verify", "femnist"], ["run", "femnist.toml", "--dry-run"], ["data", "list"]]


def fetched(tmp_path, monkeypatch, per_file):
    """FEMNIST has no checksums of its own: those of the day it was imported tell."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDMGDA_DATA", str(tmp_path / "cache"))
    pixels = np.arange(784) % 2
    images = [(pixels * (number % 7 == np.arange(784) % 7)).tolist() for number in range(7)]
    data = {name: {"x": images, "y": [*range(7)]} for name in ("f1", "f2")}
    (tmp_path / "leaf").mkdir()
    content = json.dumps({"users": ["f1", "f2"], "user_data": data})
    (tmp_path / "leaf" / "all_data_0.json").write_text(content)
    (tmp_path / "femnist.toml").write_text('rounds = 1\n[data]\nname = "femnist"\n')
    assert fault(["data", "import", "femnist", "leaf"]) is None
    cached = tmp_path / "cache" / "femnist"
    assert broken_by(cached, per_file, CACHED) == []
    for name, where, mask in places(cached, per_file):
        with changed(cached / name, where, mask):
            code, *_ = call(CACHED[0])
        assert code == 3 or name == "manifest.json", (name, where, mask)


def test_a_cached_data_set(tmp_path, monkeypatch):
    fetched(tmp_path, monkeypatch, 6)


@pytest.mark.torture
def test_all_of_a_cached_data_set(tmp_path, monkeypatch):
    fetched(tmp_path, monkeypatch, ALL)
