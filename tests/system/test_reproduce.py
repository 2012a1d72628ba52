"""`fedmgda reproduce`: every study runs, survives kill -9, and reports what it found."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedmgda.data.datasets import _mnist
from fedmgda.paper import STUDIES, Setting, load_study, plan_study, write_report
from runs import results
from tiny import ROUNDS, official_images, run_tiny, short, tiny_study

TRAINED = [name for name in STUDIES if name != "theory"]
TINY = ("data.name=tiny:cifar10", "model.name=cifar-cnn", "clients.participation=0.5")
"""Changes that turn a study into one of seconds, whose rounds are long enough to be killed in."""
ENVIRONMENT = os.environ | {
    "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(Path(__file__).parents[1]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_every_study_runs_and_reports(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_mnist, "load_fashion_mnist", official_images)
    study = tiny_study(name)
    setting = short(seeds=2 if study.pairs else 1)
    run_tiny(study, setting, tmp_path)
    report = write_report(study, setting, tmp_path)
    for result in report.results:
        factor = study.cost if result.cell.get("variant") in study.longer else 1
        assert result.done
        assert len(result.of_rounds("round")) == round(ROUNDS * factor)
    assert len(report.lines) == len(study.metrics) * len({str(r.cell) for r in report.results})
    values = [value for line in report.lines for value in line.values.values()]
    assert not any(math.isnan(value) for value in values), "a number is missing"
    assert {line.verdict.word for line in report.lines} == {"not comparable"}
    assert bool(report.answers) == bool(study.pairs)
    suffixes = [file.suffix for file in report.files if file.stat().st_size > 0]
    assert suffixes.count(".png") == suffixes.count(".pdf") == len(_drawn(study))


def _drawn(study):
    return {kind if kind in {"violins", "dots"} else "curves" for kind in study.figures}


def command(*arguments):
    return [sys.executable, "-m", "fedmgda", "reproduce", *arguments]


def fedmgda_reproduce(*arguments, cwd, code=0):
    result = subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert "Traceback" not in result.stderr
    assert result.returncode == code, result.stderr
    return result


def test_the_list_shows_every_study_in_eighty_columns(tmp_path):
    shown = fedmgda_reproduce("list", cwd=tmp_path).stdout
    assert max(map(len, shown.splitlines())) <= 80
    first_words = [line.split(" ")[0] for line in shown.splitlines()]
    assert [word for word in first_words if word in STUDIES] == list(STUDIES)
    assert "0/104" in shown
    assert list(tmp_path.iterdir()) == [], "a list leaves nothing behind"


def test_theory_tries_its_claims_and_writes_them(tmp_path):
    fedmgda_reproduce("theory", "--out", "out", cwd=tmp_path)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"theory.md", "theory.png", "theory.pdf"} <= written


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fig9",), "There is no study 'fig9'; see them with: fedmgda reproduce list"),
        (("fig1",), "There is no study 'fig1'; did you mean 'fig1-cifar' or 'fig1-fmnist'?"),
        (("theory", "--compat", "x"), "--compat must be 'paper' or 'released-code', got 'x'."),
        (("fig2-adult", "-c", "seed=3"), "'seed=3' cannot change a study; use --seeds instead."),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused_in_one_sentence(arguments, sentence, tmp_path):
    refused = fedmgda_reproduce(*arguments, cwd=tmp_path, code=2)
    assert " ".join(refused.stderr.split()) == f"Error: {sentence}"


def test_a_key_that_a_sweep_would_ignore_is_refused(tmp_path):
    (tmp_path / "s.toml").write_text('[[sweep.variants]]\nlabel = "A"\nrule.name = "fedavg"\n')
    refused = subprocess.run(
        [sys.executable, "-m", "fedmgda", "sweep", "s.toml", "-c", "rule.epsilon=0.5"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert refused.returncode == 2
    assert refused.stderr.startswith("Error: rule.epsilon would be ignored")
    assert not (tmp_path / "runs").exists()


def rounds_done(path):
    return sum(file.read_bytes().count(b"\n") for file in path.glob("*/rounds.jsonl"))


def kill_after(arguments, folder, goal):
    """Start the command and kill it, not its runs, when so many rounds are on record."""
    process = subprocess.Popen(
        command(*arguments), cwd=folder.parent, env=ENVIRONMENT, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while rounds_done(folder) < goal:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(60)


def test_a_killed_study_goes_on_and_changes_no_number(tmp_path):
    study, rounds = load_study("fmnist-epsilon"), 12
    setting = Setting(rounds=rounds, seeds=1, changes=TINY)
    run_tiny(study, setting, tmp_path / "whole")
    whole = write_report(study, setting, tmp_path / "whole")
    changes = [word for change in TINY for word in ("-c", change)]
    limits = ("--rounds", str(rounds), "--seeds", "1", "--jobs", "2")
    arguments = ("fmnist-epsilon", *limits, *changes, "--out", "killed", "--publish", "kept")
    kill_after(arguments, tmp_path / "killed", goal=20)
    shown = fedmgda_reproduce(*arguments, cwd=tmp_path).stdout
    assert "5 of 5 runs are finished." in shown
    for run in plan_study(study, setting):
        name = run.folder_name
        assert results(tmp_path / "killed" / name) == results(tmp_path / "whole" / name)
    for file in whole.files:
        assert (tmp_path / "killed" / file.name).read_bytes() == file.read_bytes()
        assert (tmp_path / "kept" / file.name).read_bytes() == file.read_bytes()
    assert "Changed: data.name=tiny:cifar10, model.name=cifar-cnn" in shown
