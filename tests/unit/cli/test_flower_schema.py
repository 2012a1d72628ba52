"""`fedmgda flower schema`: what one file suggests for all, and whether another fits."""

import subprocess
import sys

import numpy as np
import pytest

from fedmgda._errors import DataError, SpecError, StoreError
from fedmgda.cli._app import run_app
from fedmgda.experiments import Spec, local_part, parse, propose_schema, read_toml, resolve
from tables import write_rows

HEAD = ["visit_id", "age", "ward", "ill"]


def hospital(path, wards="ABC", rows=60, rare=()):
    rng = np.random.default_rng(rows)
    table = [
        [1000 + i, rng.integers(20, 90), wards[i % len(wards)], ("no", "yes")[i % 2]]
        for i in range(rows)
    ]
    for place, ward in enumerate(rare):
        table[place][2] = ward
    return write_rows(path, HEAD, table)


@pytest.fixture
def oslo(tmp_path):
    return hospital(tmp_path / "oslo.csv", rare=["Nansen"])


def fedmgda(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["fedmgda", "flower", "schema", *map(str, arguments)])
    return run_app()


def test_what_it_writes_is_a_spec_that_the_file_fits(oslo, tmp_path, monkeypatch, capsys):
    place = tmp_path / "spec.toml"
    assert fedmgda(monkeypatch, oslo, "--target", "ill", "--out", place) == 0
    assert "visit_id" in capsys.readouterr().out
    spec = resolve(parse(Spec, read_toml(place)))
    columns = {column.name: column.categories for column in spec.data.schema.columns}
    assert columns == {"age": None, "ward": ("A", "B", "C")}
    assert spec.data.schema.classes == ("no", "yes")
    part = local_part(spec, oslo)
    assert (part.client_names, part.sizes.tolist()) == (("oslo",), [[48, 6, 6]])
    assert np.count_nonzero(part.table.columns[1].values < 0) == 1


def test_how_many_classes_few_rows_have_is_said_and_not_which(tmp_path, monkeypatch, capsys):
    """All of them are listed, so whoever writes the spec must know."""
    file = hospital(tmp_path / "t.csv")
    assert "rare classes" not in dict(propose_schema(file, target="ill").facts)
    file.write_text(file.read_text() + "1,50,A,Nansen\n2,51,A,Amundsen\n")
    told = dict(propose_schema(file, target="ill").facts)["rare classes"]
    assert told.startswith("2 of fewer than 10 rows, listed all the same")
    assert "Nansen" not in told
    place = tmp_path / "spec.toml"
    assert fedmgda(monkeypatch, file, "--target", "ill", "--out", place) == 0
    assert "2 of fewer than 10 rows" in " ".join(capsys.readouterr().out.split())
    assert "rare classes" not in dict(propose_schema(file, target="ill", fewest=1).facts)


def test_what_few_rows_have_is_not_told_to_everybody(oslo):
    assert "Nansen" not in propose_schema(oslo, target="ill").spec
    assert "Nansen" in propose_schema(oslo, target="ill", fewest=1).spec
    assert dict(propose_schema(oslo, target="ill").facts)["categories"].startswith(
        "3 are listed; 1"
    )
    with pytest.raises(DataError, match=r"No category of t\.csv has 10 rows"):
        propose_schema(hospital_of_wards(oslo.parent / "t.csv"), target="ill", ignore=["age"])


def hospital_of_wards(path):
    return hospital(path, wards=[f"w{i}" for i in range(20)])


def test_another_file_is_checked_and_nothing_is_written(oslo, tmp_path, monkeypatch, capsys):
    place = tmp_path / "spec.toml"
    assert fedmgda(monkeypatch, oslo, "--target", "ill", "--out", place) == 0
    before = sorted(tmp_path.iterdir())
    bergen = hospital(tmp_path / "bergen.csv", wards="BD", rows=40)
    assert fedmgda(monkeypatch, bergen, "--check", place) == 0
    said = capsys.readouterr()
    assert "bergen.csv fits" in said.out
    assert "'ward' (20)" in " ".join(said.err.split())
    assert sorted(tmp_path.iterdir()) == sorted([*before, bergen])
    few = hospital(tmp_path / "few.csv", rows=9)
    assert fedmgda(monkeypatch, few, "--check", place) == DataError.exit_code
    assert "None of the 1 clients has the 10 rows" in " ".join(capsys.readouterr().err.split())


def test_what_the_spec_does_not_list_is_named_with_the_line_that_lists_it(
    oslo, tmp_path, monkeypatch, capsys
):
    place = tmp_path / "spec.toml"
    assert fedmgda(monkeypatch, oslo, "--target", "ill", "--out", place) == 0
    bergen = hospital(tmp_path / "bergen.csv", wards="BD", rows=40, rare=["E", ""])
    capsys.readouterr()
    assert fedmgda(monkeypatch, bergen, "--check", place) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "the spec does not list: 'D' (19), 'E' (1); 1 value of it is missing" in said
    line = '{ name = "ward", kind = "category", categories = ["A", "B", "C", "D", "E"] },'
    assert line in said
    old = next(row for row in place.read_text().splitlines() if '"ward"' in row)
    refusing = place.read_text().replace('"missing"', '"refuse"')
    place.write_text(refusing)
    assert fedmgda(monkeypatch, bergen, "--check", place) == DataError.exit_code
    assert line in " ".join(capsys.readouterr().err.split())
    place.write_text(refusing.replace(old, line))
    assert fedmgda(monkeypatch, bergen, "--check", place) == 0
    assert "does not list" not in capsys.readouterr().err


def test_a_spec_that_exists_stays_as_it_is(oslo, tmp_path, monkeypatch):
    place = tmp_path / "spec.toml"
    place.write_text("")
    assert fedmgda(monkeypatch, oslo, "--out", place) == StoreError.exit_code
    assert fedmgda(monkeypatch, oslo, "--out", place, "--force") == 0


def test_a_column_of_clients_is_one_only_if_it_is_named(tmp_path):
    rows = [[i % 7, "AB"[i % 2], ("no", "yes")[i % 2]] for i in range(60)]
    path = write_rows(tmp_path / "t.csv", ["age", "town", "ill"], rows)
    assert "client =" not in propose_schema(path, target="ill").spec
    proposal = propose_schema(path, target="ill", client="town")
    assert 'client = "town"' in proposal.spec
    assert '"town", kind' not in proposal.spec


def test_a_file_of_its_own_needs_a_schema(oslo):
    spec = resolve(parse(Spec, {"data": {"path": str(oslo), "target": "ill"}}))
    with pytest.raises(SpecError, match=r"needs a spec with data\.schema"):
        local_part(spec, oslo)


def test_a_regression_lists_no_classes(tmp_path):
    rows = [[i % 7, 0.5 + i] for i in range(60)]
    path = write_rows(tmp_path / "t.csv", ["age", "cost"], rows)
    assert "classes" not in propose_schema(path, target="cost").spec.partition("[data.schema]")[2]


def test_the_command_line_starts_without_flower():
    found = subprocess.run(
        [sys.executable, "-c", "import sys, fedmgda.cli; print('flwr' in sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == "False"
