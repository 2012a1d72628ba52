"""A loss and an optimiser of the user's own, named on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, parse, resolve, to_toml
from runs import results

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import torch
from torch.nn import functional

def huber(outputs, targets):
    return functional.huber_loss(outputs[:, 0], targets, reduction="none")

def adam(parameters, client_lr):
    return torch.optim.Adam(parameters, client_lr)

def mean(outputs, targets):
    return huber(outputs, targets).mean()
"""

SPEC = """
rounds = 3
[data]
path = "points.csv"
client = "who"
target = "y"
task = "regression"
[evaluation]
every = 1
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["who,x,y"]
    for who in "abc":
        lines += [f"{who},{x:.4f},{3 * x + 0.1 * rng.normal():.4f}" for x in rng.normal(size=20)]
    (tmp_path / "points.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "own_ideas.py").write_text(MODULE)
    return tmp_path


def run(home: Path, out: str, *overrides: str) -> subprocess.CompletedProcess[str]:
    options = [word for override in overrides for word in ("-c", override)]
    command = [sys.executable, "-m", "fedmgda", "run", "spec.toml", "--out", out, *options]
    return subprocess.run(
        command, cwd=home, capture_output=True, text=True, timeout=120, check=False
    )


def test_huber_and_adam_train_by_their_entries_in_any_number_of_processes(home: Path) -> None:
    own = ("clients.loss=own_ideas:huber", "clients.optimizer=own_ideas:adam")
    for out, *more in (("plain",), ("one", *own), ("two", *own, "engine.workers=2")):
        done = run(home, out, *more)
        assert done.returncode == 0, done.stderr
    one, two = results(home / "one"), results(home / "two")
    assert one == two
    assert one["model.safetensors"] != results(home / "plain")["model.safetensors"]
    assert json.loads((home / "one" / "environment.json").read_text())["path"] == "torch"
    assert 'loss = "own_ideas:huber"' in (home / "one" / "spec.toml").read_text()
    assert json.loads(one["summary.json"])["honest"]["accuracy"] is None


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (("clients.loss=own_ideas:hubris",), "has no 'hubris'; did you mean 'huber'?"),
        (("clients.loss=huber",), "clients.loss must have the form 'package.module:function', got"),
        (("clients.loss=own_ideas:mean",), "clients.loss cannot be used: ValueError: the loss of"),
        (
            ("clients.optimizer=own_ideas:adam", "clients.path=compiled"),
            'clients.path = "compiled" cannot call a clients.optimizer of your own',
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    home: Path, overrides: tuple[str, ...], sentence: str
) -> None:
    done = run(home, "refused", *overrides)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())


def test_an_optimizer_brings_its_own_momentum() -> None:
    table = {"optimizer": "package.module:adam"}
    spec = resolve(parse(Spec, {"compat": "released-code", "clients": table}))
    assert spec.clients.momentum == 0.0
    with pytest.raises(SpecError, match=r"^clients\.momentum = 0\.5 does not reach clients\.opt"):
        resolve(parse(Spec, {"clients": table | {"momentum": 0.5}}))


def test_a_spec_without_them_is_written_as_before() -> None:
    text = to_toml(resolve(Spec()))
    assert "loss =" not in text.replace("reported_loss =", "")
    assert "optimizer" not in text
