"""Places that cannot be, in every command that takes one: a sentence and a code, at once."""

import os
import sys

import pytest

from fedmgda.cli._app import run_app
from runs import finished_run

LONG = "n" * 300
SPEC = 'rounds = 1\n[data]\npath = "rows.csv"\ntarget = "y"\n'

READ = {
    "run": ["run", "{}"],
    "sweep": ["sweep", "{}"],
    "resume": ["resume", "{}"],
    "report": ["report", "{}"],
    "verify": ["verify", "{}"],
    "compare": ["compare", "{}", "run"],
    "init": ["init", "{}.csv"],
    "predict": ["predict", "{}", "rows.csv"],
    "rows": ["run", "spec.toml", "-c", "data.path={}.csv"],
    "folder": ["run", "spec.toml", "-c", "data.path={}"],
    "arrays": ["run", "arrays.toml", "-c", "data.path={}.npz"],
    "import": ["data", "import", "adult", "{}"],
    "plot": ["data", "plot", "{}"],
    "schema": ["flower", "schema", "{}.csv"],
}
WRITE = {
    "run": ["run", "spec.toml", "-o", "{}", "-c", "data.name=digits"],
    "report": ["report", "run", "-o", "{}.html"],
    "compare": ["compare", "run", "run", "--csv", "{}.csv"],
    "predict": ["predict", "run", "rows.csv", "-o", "{}.csv"],
    "init": ["init", "rows.csv", "-o", "{}.toml"],
    "schema": ["flower", "schema", "rows.csv", "-o", "{}.toml"],
    "reproduce": ["reproduce", "adult-bias", "--report", "-o", "{}"],
}
OTHERS = [f"{LONG}/below", "n/" * 2500 + "n", "\udcff"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    finished_run(folder / "run")
    (folder / "rows.csv").write_text("x,y\n1,2\n2,1\n" * 20)
    (folder / "spec.toml").write_text(SPEC)
    (folder / "arrays.toml").write_text("rounds = 1\n[data]\n")
    os.mkfifo(folder / "pipe")
    for suffix in ("csv", "npz", "html", "toml"):
        os.mkfifo(folder / f"pipe.{suffix}")
    return folder


@pytest.fixture
def refused(place, monkeypatch, capsys):
    def run(arguments, name):
        monkeypatch.chdir(place)
        monkeypatch.setattr(sys, "argv", ["fedmgda", *(a.format(name) for a in arguments)])
        code = run_app()
        (sentence,) = capsys.readouterr().err.splitlines()
        assert sentence.startswith("Error: ")
        assert sentence.rstrip().endswith((".", "adult PATH")) or "https" in sentence
        return code

    return run


@pytest.mark.parametrize("name", [LONG, *OTHERS])
@pytest.mark.parametrize("command", READ)
def test_what_cannot_be_read_is_refused(refused, command, name):
    assert refused(READ[command], name) in {2, 3, 4}


@pytest.mark.parametrize("command", WRITE)
def test_what_cannot_be_written_is_refused(refused, command):
    assert refused(WRITE[command], LONG) in {2, 3, 4}


@pytest.mark.parametrize("command", READ)
def test_a_pipe_is_never_waited_for(refused, command):
    assert refused(READ[command], "pipe") in {2, 3, 4}


@pytest.mark.parametrize("command", WRITE)
def test_nor_is_one_where_something_is_written(refused, command):
    assert refused(WRITE[command], "pipe") in {2, 3, 4}
