"""A rule and an attack of one's own: one new file each, run from the command line by name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

SPEC = """
rounds = 4
[clients]
per_round = 5
[rule]
name = "own_rule:Median"
options = { scale = 0.5 }
[attack]
name = "own_attack:Noise"
clients = [1, 3]
options = { size = 3.0 }
"""


def fedmgda(*arguments, cwd, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "fedmgda", *arguments],
        cwd=cwd, env=os.environ | {"COLUMNS": "200"}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def folder(tmp_path):
    for name in ("own_rule.py", "own_attack.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text())
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_they_train_and_repeat_to_the_byte(folder):
    for out in ("one", "two"):
        fedmgda("run", "spec.toml", "--out", out, cwd=folder)
    rounds = [(folder / out / "rounds.jsonl").read_bytes() for out in ("one", "two")]
    assert rounds[0] == rounds[1], "a random attack draws the same again"
    lines = [json.loads(line) for line in rounds[0].splitlines()]
    assert all({1, 3} <= set(line["clients"]) for line in lines)
    assert all(line["failed"] is None for line in lines)
    models = [(folder / out / "model.safetensors").read_bytes() for out in ("one", "two")]
    assert models[0] == models[1]


def test_an_attack_of_ones_own_lies_about_protected_steps(folder):
    """Losses that are said to be tenfold stop every round; what is measured is the truth."""
    protected = ("-c", "server.protect=true", "-c", "rule.name=fedavg")
    rounds = {}
    for rise in (1.0, 10.0):
        options = f"attack.options={{ size = 0.01, rise = {rise} }}"
        fedmgda("run", "spec.toml", "--out", f"{rise}", *protected, "-c", options, cwd=folder)
        lines = (folder / f"{rise}" / "rounds.jsonl").read_text().splitlines()
        rounds[rise] = [json.loads(line) for line in lines]
    assert not any(line["held"] for line in rounds[1.0])
    for line in rounds[10.0]:
        assert line["held"]
        assert line["losses_before"] == line["losses_after"] == line["protection"]["before"]
        assert all({1, 3} == set(trial) & {1, 3} for trial in line["protection"]["opposed"])


def test_a_dry_run_imports_neither(folder):
    (folder / "own_rule.py").write_text("raise SystemExit('imported')")
    (folder / "own_attack.py").write_text("raise SystemExit('imported')")
    shown = fedmgda("run", "spec.toml", "--dry-run", cwd=folder).stdout
    assert 'name = "own_rule:Median"' in shown
    assert "options = { size = 3.0 }" in shown


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "rule.options={ scal = 1.0 }",
            "no argument of 'own_rule:Median'; did you mean 'scale'?",
        ),
        ("rule.name=own_rule:Medan", "has no 'Medan'; did you mean 'Median'?"),
        (
            "attack.options={ size = 1.0, x = 2 }",
            "attack.options.x is no argument of",
        ),
        ("attack.name=own_rule:RULE", "has no 'RULE'"),
    ],
)
def test_what_does_not_fit_them_is_said_in_one_sentence(folder, override, sentence):
    said = fedmgda("run", "spec.toml", "--out", "x", "-c", override, cwd=folder, code=2).stderr
    assert sentence in " ".join(said.split())
