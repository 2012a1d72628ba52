"""`fedmgda data plot`: the picture, and what is refused before anything is drawn."""

from dataclasses import replace
from pathlib import Path

import pytest

from fedmgda._errors import SpecError, StoreError
from fedmgda.cli import _plot
from fedmgda.cli._plot import plot
from fedmgda.experiments import RunFolder, Spec, parse, resolve
from runs import carry_on

SPEC = {"rounds": 1, "data": {"num_clients": 4}, "clients": {"per_round": 2}}


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text("[data]\nnum_clients = 4\n[sweep]\nseeds = [0, 1]\n")
    return Path("spec.toml")


def test_a_spec_is_drawn_with_its_overrides(spec, capsys):
    plot(spec, Path("who.png"), ["data.num_clients=5"])
    assert Path("who.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == "5 clients of digits: who.png\n"


def test_a_run_folder_is_drawn_from_its_own_spec(spec, capsys):
    RunFolder.create(Path("run"), resolve(parse(Spec, SPEC)))
    plot(Path("run"), Path("who.svg"))
    assert capsys.readouterr().out == "4 clients of digits: who.svg\n"


def test_a_table_is_drawn_and_what_it_lacks_is_noted(spec, capsys):
    rows = "".join(f"{site},{i % 2},{i if i else ''}\n" for site in "ab" for i in range(12))
    Path("visits.csv").write_text("site,ill,age\n" + rows)
    Path("own.toml").write_text('[data]\npath = "visits.csv"\nclient = "site"\ntarget = "ill"\n')
    plot(Path("own.toml"), Path("who.png"))
    shown = capsys.readouterr()
    assert shown.out == "2 clients of visits.csv: who.png\n"
    assert "missing numbers: 'age' (2)" in shown.err


def test_a_run_from_before_there_were_encodings_is_drawn_as_it_was(spec, capsys):
    rows = "".join(f"{i},{site},{i % 2},2024-01-{1 + i % 3}\n" for site in "ab" for i in range(6))
    Path("visits.csv").write_text("id,site,ill,day\n" + rows)
    data = {"path": "visits.csv", "client": "site", "target": "ill"}
    resolved = resolve(parse(Spec, {"rounds": 1, "data": data | {"encoding": "plain"}}))
    old = replace(resolved, data=replace(resolved.data, encoding=None))
    RunFolder.create(Path("run"), old)
    carry_on(Path("run"))
    plot(Path("run"), Path("who.png"))  # six rows are enough for a client, as they were then
    assert capsys.readouterr().out == "2 clients of visits.csv: who.png\n"


@pytest.mark.parametrize("name", ["who", "who.jpeg", "who.toml"])
def test_other_kinds_of_pictures_are_refused_before_anything_is_read(name, monkeypatch):
    monkeypatch.setattr(_plot, "build_data", None)
    with pytest.raises(SpecError, match=r"must end in \.png, \.pdf or \.svg, got '" + name):
        plot(Path("nowhere.toml"), Path(name))


def test_a_picture_that_cannot_be_written_is_an_error_of_the_store(spec):
    with pytest.raises(StoreError, match="cannot be written: No such file or directory"):
        plot(spec, Path("no/such/folder/who.png"))
