"""A spec from a stranger: what names code is refused on request, and reading never runs it."""

import sys
from dataclasses import fields, is_dataclass

import pytest

from fedmgda._errors import SpecError
from fedmgda.cli._app import run_app
from fedmgda.experiments import (
    RunFolder,
    Spec,
    open_run,
    parse,
    plan_sweep,
    refuse_code,
    resolve,
    run_folders,
)
from runs import carry_on, small_spec

ENTRY = "code_that_must_not_run:anything"
MODULE = "code_that_must_not_run"


def entry_keys():
    """Return every key of a spec that may name code."""
    spec = Spec()
    return [
        (section.name, key.name)
        for section in fields(spec)
        if is_dataclass(getattr(spec, section.name))
        for key in fields(getattr(spec, section.name))
        if key.metadata.get("entry")
    ]


KEYS = entry_keys()


@pytest.fixture(autouse=True)
def in_a_folder_with_such_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{MODULE}.py").write_text("raise SystemExit('this code ran')")
    yield
    assert MODULE not in sys.modules


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["fedmgda", *words])
    return run_app()


def write_spec(tmp_path, section, key, more=""):
    path = tmp_path / "spec.toml"
    path.write_text(f'rounds = 2\n[{section}]\n{key} = "{ENTRY}"\n{more}')
    return path


def test_there_are_such_keys():
    assert {("data", "name"), ("model", "name"), ("rule", "name"), ("attack", "name")} <= {*KEYS}


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_every_key_that_names_code_is_refused(section, key):
    spec = resolve(parse(Spec, {section: {key: ENTRY}}))
    with pytest.raises(SpecError, match=rf"{section}\.{key} = '{ENTRY}' would run code"):
        refuse_code(spec)


def test_a_spec_without_code_is_not_refused():
    refuse_code(small_spec())


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_a_dry_run_prints_the_spec_and_runs_no_code(tmp_path, monkeypatch, capsys, section, key):
    path = write_spec(tmp_path, section, key)
    assert run(monkeypatch, "run", str(path), "--dry-run") == 0
    assert ENTRY in capsys.readouterr().out
    assert run(monkeypatch, "run", str(path), "--dry-run", "--no-code") == 2


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_run_and_sweep_refuse_with_code_2_and_leave_nothing(
    tmp_path, monkeypatch, capsys, section, key
):
    path = write_spec(tmp_path, section, key)
    assert run(monkeypatch, "run", str(path), "--no-code", "--out", "out") == 2
    assert "which --no-code refuses" in capsys.readouterr().err
    path = write_spec(tmp_path, section, key, "[sweep]\nseeds = [0, 1]\n")
    assert run(monkeypatch, "sweep", str(path), "--no-code", "--out", "out") == 2
    assert "which --no-code refuses" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_reproduce_refuses_it_too(tmp_path, monkeypatch, capsys):
    words = ["reproduce", "fmnist-rules", "-c", f"data.name={ENTRY}", "--no-code", "--out", "out"]
    assert run(monkeypatch, *words) == 2
    assert not (tmp_path / "out").exists()


def test_resume_refuses_it_too_and_reading_runs_nothing(tmp_path, monkeypatch, capsys):
    folder = RunFolder.create(
        tmp_path / "run", small_spec(data={"name": "remote_table:clients"}, model={})
    )
    carry_on(folder.path)
    text = (folder.path / "spec.toml").read_text().replace("remote_table:clients", ENTRY)
    (folder.path / "spec.toml").write_text(text)
    (folder.path / "DONE").unlink()
    assert run(monkeypatch, "resume", str(folder.path), "--no-code") == 2
    found = open_run(folder.path)
    assert found.spec.data.name == ENTRY
    assert len(found.rounds) == 6
    assert len(found.clients) == 4
    assert found.model_arrays()
    assert run_folders(tmp_path) == [folder.path]


def test_planning_runs_nothing():
    table = {"sweep": {"grid": {"rule.name": [ENTRY, "fedavg"]}}}
    assert len(plan_sweep(table)) == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "spec.toml", "--dry-run"), 0),
        (("run", "spec.toml", "--no-code"), 2),
        (("run", "spec.toml", "--compare", "--no-code"), 2),
        (("sweep", "spec.toml", "--no-code"), 2),
    ],
)
def test_a_step_that_the_data_tells_runs_no_code_either(tmp_path, monkeypatch, words, code):
    write_spec(tmp_path, "data", "name", '[clients]\nclient_lr = "auto"\nper_round = 1\n')
    assert run(monkeypatch, *words) == code
