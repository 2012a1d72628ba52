"""`fedmgda predict`: new rows in, their classes or values beside them out."""

import csv
import io
import json

import pytest
import torch

from fedmgda._errors import DataError
from fedmgda.cli._app import run_app
from fedmgda.experiments import RunFolder, Spec, open_run, parse, resolve
from runs import carry_on, finished_run
from tables import write_table


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A table, and runs on it with classes and with values."""
    folder = tmp_path_factory.mktemp("predict")
    for task in ("classes", "values"):
        data = write_table(folder / f"{task}.csv", rows=120, positives=0.4, task=task)
        RunFolder.create(folder / task, resolve(parse(Spec, {"rounds": 2, "data": data})))
        carry_on(folder / task)
    return folder


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text('age,income,prediction,remark\n0.5,1,7,"a, ""b"""\n-1,,8,=1+1\n')
    return path


def fedmgda(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["fedmgda", "predict", *map(str, arguments)])
    return run_app()


def test_the_rows_come_back_with_what_the_model_says(trained, new, tmp_path, monkeypatch, capsys):
    assert fedmgda(monkeypatch, trained / "classes", new, "-o", tmp_path / "scored.csv") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("2 rows: 'left' is ")
    assert shown.rstrip().endswith("scored.csv")
    with (tmp_path / "scored.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "age", "income", "prediction", "remark",
        "prediction 2", "probability:no", "probability:yes",
    ]  # fmt: skip
    assert [row["remark"] for row in rows] == ['a, "b"', "=1+1"]
    assert [row["prediction"] for row in rows] == ["7", "8"]
    for row in rows:
        shares = float(row["probability:no"]), float(row["probability:yes"])
        assert sum(shares) == pytest.approx(1)
        assert row["prediction 2"] == ("no" if shares[0] > shares[1] else "yes")


def test_without_a_file_they_are_printed(trained, new, monkeypatch, capsys):
    assert fedmgda(monkeypatch, trained / "values", new) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    expected = open_run(trained / "values").model().score(new).predictions
    assert [float(row["prediction 2"]) for row in rows] == expected.tolist()
    assert max(map(abs, expected)) > 20  # units, not deviations


def test_json_has_everything_and_nothing_else(trained, new, tmp_path, monkeypatch, capsys):
    assert fedmgda(monkeypatch, trained / "classes", new, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    missing, verdict = found["notes"]
    assert (found["num_rows"], found["classes"]) == (2, ["no", "yes"])
    assert "income" in missing
    assert "It did not learn" in verdict  # in two rounds
    assert len(found["predictions"]) == len(found["probabilities"]) == 2
    place = tmp_path / "scored.csv"
    assert fedmgda(monkeypatch, trained / "values", new, "-o", place, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["out"], found["classes"]) == (str(place), None)
    assert "predictions" not in found


def test_a_category_nobody_knows_is_a_note(tmp_path, monkeypatch, capsys):
    rows = [f"c{i % 3},{'uvw'[i % 3]},{i % 7},{'ab'[i % 2]}" for i in range(90)]
    (tmp_path / "t.csv").write_text("\n".join(["client,kind,x,y", *rows]))
    data = {"path": str(tmp_path / "t.csv"), "client": "client", "target": "y"}
    RunFolder.create(tmp_path / "run", resolve(parse(Spec, {"rounds": 1, "data": data})))
    carry_on(tmp_path / "run")
    (tmp_path / "new.csv").write_text("x,kind\n1,u\n2,q\n")
    assert fedmgda(monkeypatch, tmp_path / "run", tmp_path / "new.csv") == 0
    assert "'kind' (1 row)" in " ".join(capsys.readouterr().err.split())


def test_numbers_that_miss_or_lie_far_outside_are_counted(trained, tmp_path, monkeypatch, capsys):
    path = tmp_path / "new.csv"
    path.write_text("age,income\n0.5,1\n-1,\n1e6,na\n-1e6,1e9\n")
    assert fedmgda(monkeypatch, trained / "classes", path) == 0
    notes = " ".join(capsys.readouterr().err.split()).split("Note: ")[1:]
    missing, outside = (note.strip() for note in notes[:2])
    assert missing == (
        "In new.csv the mean of the training rows stands in for missing numbers: 'income' (2 rows)."
    )
    assert outside == (
        "Numbers of new.csv more than 5 deviations from the mean of the training rows count as 5 "
        "deviations from it: 'age' (2 rows), 'income' (1 row)."
    )


def test_names_in_another_case_are_told(trained, tmp_path, monkeypatch, capsys):
    path = tmp_path / "new.csv"
    path.write_text("AGE,INCOME\n0.5,1\n")
    assert fedmgda(monkeypatch, trained / "classes", path) == 3
    assert "'AGE' differs in upper and lower case" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("scored.txt", "must end in .csv"),
        ("new.csv", "holds the rows themselves"),
        ("nowhere/scored.csv", "cannot be written"),
    ],
)
def test_a_place_that_cannot_be_is_refused(trained, new, monkeypatch, capsys, place, message):
    before = new.read_bytes()
    assert fedmgda(monkeypatch, trained / "classes", new, "-o", new.parent / place) != 0
    assert message in " ".join(capsys.readouterr().err.split())
    assert new.read_bytes() == before


def test_what_is_missing_is_one_sentence(trained, tmp_path, monkeypatch, capsys):
    (tmp_path / "new.csv").write_text("age\n1\n")
    assert fedmgda(monkeypatch, trained / "classes", tmp_path / "new.csv") == 3
    assert "new.csv has no column 'income'; the model was trained" in capsys.readouterr().err
    assert fedmgda(monkeypatch, trained / "classes", tmp_path / "none.csv") == 3
    assert "There is no table" in capsys.readouterr().err


def test_a_run_without_columns_says_so(tmp_path, new, monkeypatch, capsys):
    finished_run(tmp_path / "run")
    assert fedmgda(monkeypatch, tmp_path / "run", new) == 3
    assert "has no encoder of columns" in " ".join(capsys.readouterr().err.split())


def test_code_is_refused_where_that_is_asked_for(trained, new, monkeypatch):
    asked = []

    class Watched:
        def __init__(self, path):
            self.path, self.verdict = path, open_run(path).verdict

        def model(self, *, allow_code):
            asked.append(allow_code)
            return open_run(self.path).model()

    monkeypatch.setattr("fedmgda.cli._predict.open_run", Watched)
    assert fedmgda(monkeypatch, trained / "classes", new, "--no-code") == 0
    assert fedmgda(monkeypatch, trained / "classes", new) == 0
    assert asked == [False, True]


def test_a_model_of_no_use_is_not_used_without_a_word(trained, tmp_path, monkeypatch, capsys):
    data = {"path": str(trained / "classes.csv"), "client": "branch", "target": "left"}
    clients = {"client_lr": 1e30}
    finished_run(tmp_path / "run", data=data, model={}, clients=clients)
    assert not open_run(tmp_path / "run").verdict.good
    assert fedmgda(monkeypatch, tmp_path / "run", trained / "classes.csv") == 0
    said = " ".join(capsys.readouterr().err.split())
    assert f"Note: The verdict on {tmp_path / 'run'}: It diverged" in said


def test_what_is_no_number_is_no_class(trained):
    model = open_run(trained / "classes").model()
    with torch.no_grad():
        next(model.module.parameters()).fill_(float("nan"))
    with pytest.raises(DataError, match="gives no number for 120 of 120 rows"):
        model.score(trained / "classes.csv")


def test_nothing_is_written_over_but_predictions(trained, new, tmp_path, monkeypatch, capsys):
    table = tmp_path / "table.csv"
    table.write_bytes((trained / "classes.csv").read_bytes())
    assert fedmgda(monkeypatch, trained / "classes", new, "-o", table) == 2
    assert "exists and holds no predictions" in capsys.readouterr().err
    assert table.read_bytes() == (trained / "classes.csv").read_bytes()
    for task in ("classes", "values"):  # the second over the first, each twice
        for _ in range(2):
            assert fedmgda(monkeypatch, trained / task, new, "-o", tmp_path / "s.csv") == 0
