"""examples/hospitals, but for the network: three files, two runs, a comparison, a prediction."""

import csv
import importlib.util
import re
from pathlib import Path

import pytest

from fedmgda.cli._app import run_app
from fedmgda.experiments import (
    Spec,
    local_part,
    open_run,
    parse,
    propose_schema,
    read_toml,
    resolve,
    to_toml,
    with_overrides,
)
from fedmgda.flower.server_app import Settings, serve
from fedmgda.flower.wire._leaving import FIELDS
from flower_grid import MemoryGrid

EXAMPLE = Path(__file__).parents[3] / "examples" / "hospitals"
HOSPITALS = ("coast", "north", "valley")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    about = importlib.util.spec_from_file_location("make_files", EXAMPLE / "make_files.py")
    script = importlib.util.module_from_spec(about)
    about.loader.exec_module(script)
    folder = tmp_path_factory.mktemp("files")
    script.main(folder)
    return folder


@pytest.fixture(scope="module")
def runs(files, tmp_path_factory):
    """The two runs of the example, each node with its own file."""
    folder = tmp_path_factory.mktemp("runs")
    for name, overrides in (("plus", []), ("average", ["rule.name=fedavg"])):
        grid = MemoryGrid()
        nodes = enumerate(HOSPITALS)
        grid.online = {100 + i: {"data": str(files / f"{site}.csv")} for i, site in nodes}
        table = with_overrides(read_toml(EXAMPLE / "spec.toml"), overrides)
        spec = to_toml(resolve(parse(Spec, table)))
        assert serve(grid, name, Settings(spec=spec, out=folder / name, num_nodes=3)) == 0
    return folder


def fedmgda(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, arguments)])
    return run_app()


def test_the_spec_is_what_the_command_makes_of_one_file(files):
    made = propose_schema(files / "north.csv", target="diagnosis").spec
    kept = (EXAMPLE / "spec.toml").read_text()
    by_hand = kept.replace(', "Nikon"', "")
    assert made.partition("[data]")[2] == by_hand.partition("[data]")[2]


def test_every_hospital_finds_that_its_file_fits(files):
    spec = resolve(parse(Spec, read_toml(EXAMPLE / "spec.toml")))
    for site in HOSPITALS:
        part = local_part(spec, files / f"{site}.csv")
        assert part.client_names == (site,)
        device = part.table.columns[0]
        assert (device.name, device.num_missing) == ("device", 0)


def test_all_three_are_served(runs):
    run = open_run(runs / "plus")
    assert [client.name for client in run.clients] == list(HOSPITALS)
    assert run.verdict.outcome == "learned"


def test_the_runs_are_compared_row_by_row(runs, monkeypatch, capsys):
    assert fedmgda(monkeypatch, "compare", runs / "plus", runs / "average") == 0
    assert "plus by accuracy: 3 clients, 54 test rows, seed 0" in capsys.readouterr().out


def test_new_patients_are_judged_without_any_hospital(files, runs, tmp_path, monkeypatch):
    place = tmp_path / "judged.csv"
    arguments = ("predict", runs / "plus", files / "new.csv", "--out", place)
    assert fedmgda(monkeypatch, *arguments) == 0
    rows = list(csv.DictReader(place.read_text().splitlines()))
    assert len(rows) == 40
    assert {row["prediction"] for row in rows} == {"benign", "malignant"}


def test_the_readme_lists_every_field_that_leaves_a_node():
    text = (EXAMPLE / "README.md").read_text()
    told = re.findall(r"^\| `([\w.*]+)` \| ([\w, ]+) \| (.+) \|$", text, re.MULTILINE)
    assert told == [(f.name, ", ".join(f.phases), f.meaning) for f in FIELDS]
