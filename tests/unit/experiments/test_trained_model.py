"""A trained model is used on new rows: the answers of evaluation, from the folder alone."""

import csv
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fedmgda._errors import DataError, SpecError, StoreError
from fedmgda.data import read_raw
from fedmgda.experiments import RunFolder, Spec, TrainedModel, execute, open_run, parse, resolve
from fedmgda.experiments._spec import ModelSpec
from fedmgda.experiments._trained_model import check_model_code
from runs import FORMAT_1, carry_on, stopped_run

ROWS = 240
KINDS = ("classes", "many classes", "values", "plain", "plain values")


def write_patients(path, target):
    """Write a table with numbers, missing ones, categories, a rare one, an outlier and an id."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient_id", "clinic", "age", "ward", "höhe", "outcome"])
        for i in range(ROWS):
            age, height = rng.normal(50, 12), 1e6 + rng.normal()
            score = (age - 50) / 12 + height - 1e6 + rng.normal(0, 0.3)
            outcome = {
                "classes": "ja" if score > 0 else "nein",
                "many classes": f"grade {min(max(int(2 * score + 5), 0), 9)}",
                "values": f"{250_000 + 40_000 * score:.2f}",
            }[target]
            ward = (
                "attic" if i == 7 else "" if i % 19 == 0 else rng.choice(["A, left", 'B "x"', "C"])
            )
            writer.writerow(
                [
                    10_000 + 7 * i,
                    f"clinic {i % 4}",
                    "" if i % 23 == 0 else 1e5 if i == 11 else f"{age:.3f}",
                    ward,
                    repr(height),
                    outcome,
                ]
            )
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """For each kind of target and encoding: the table, and a finished run on it."""
    made = {}
    for kind in KINDS:
        folder = tmp_path_factory.mktemp("used")
        target = {"plain": "classes", "plain values": "values"}.get(kind, kind)
        table = write_patients(folder / "patients.csv", target)
        data = {"path": str(table), "client": "clinic", "target": "outcome"}
        encoding = {"encoding": "plain", "ignore": ["patient_id"]} if "plain" in kind else {}
        spec = {
            "rounds": 3,
            "data": data | encoding | ({"task": "regression"} if target == "values" else {}),
            "model": {"name": "mlp", "hidden": [4]} if kind == "many classes" else {},
            "clients": {"client_lr": 0.05},
        }
        RunFolder.create(folder / "run", resolve(parse(Spec, spec)))
        carry_on(folder / "run")
        made[kind] = (table, folder / "run")
    return made


def held_back(table, rows, to, drop=("outcome",)):
    """Write some rows of a table to a new one, without the columns that a new row has not."""
    with table.open(newline="") as file:
        lines = list(csv.DictReader(file))
    with to.open("w", newline="") as file:
        kept = [name for name in lines[0] if name not in drop]
        writer = csv.DictWriter(file, kept, extrasaction="ignore")
        writer.writeheader()
        writer.writerows([lines[row] for row in rows])
    return to


@pytest.mark.parametrize("kind", KINDS)
def test_the_answers_are_those_of_evaluation(runs, tmp_path, kind):
    table, path = runs[kind]
    run = open_run(path)
    told, encoder = run.predictions(), run.encoder()
    new = held_back(table, told.rows, tmp_path / "new.csv")
    scores = run.model().score(new)
    if told.probabilities is None:
        expected = encoder.values(told.predictions)
        assert scores.predictions == pytest.approx(expected, abs=1e-6 * encoder.target_scale)
        assert 100_000 < scores.predictions.mean() < 400_000  # in units
        return
    classes = np.array(encoder.class_names)
    assert scores.predictions.tolist() == classes[told.predictions].tolist()
    assert np.abs(scores.probabilities - told.probabilities).max() <= 1e-6
    assert scores.class_names == encoder.class_names


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(24)), columns=st.booleans())
def test_an_answer_depends_on_its_row_alone(runs, order, columns):
    table, path = runs["classes"]
    model, told = open_run(path).model(), open_run(path).predictions()
    with table.open(newline="") as file:
        lines = list(csv.DictReader(file))
    rows = [lines[told.rows[place]] for place in order]
    given_rows = {name: [row[name] for row in rows] for name in rows[0]} if columns else rows
    found = model.probabilities(given_rows)
    assert np.abs(found - told.probabilities[list(order)]).max() <= 1e-6


def test_it_needs_neither_the_training_file_nor_what_it_lay_beside(runs, tmp_path):
    table, path = runs["classes"]
    new = held_back(table, range(7), tmp_path / "new.csv")
    before = open_run(path).model().score(new).probabilities
    moved = table.rename(table.with_suffix(".gone"))
    try:
        assert np.array_equal(open_run(path).model().score(new).probabilities, before)
    finally:
        moved.rename(table)


def test_numbers_in_python_and_texts_in_a_file_are_the_same_rows(runs):
    _, path = runs["classes"]
    model = open_run(path).model()
    typed = [
        {"age": 41, "ward": "C", "höhe": np.float32(1e6), "more": object()},
        {"age": None, "ward": None, "höhe": 1000001.5},
    ]
    texts = [
        {"age": "41", "ward": "C", "höhe": "1000000"},
        {"age": "NA", "ward": "", "höhe": "1000001.5"},
    ]
    found, same = model.score(typed), model.score(texts)
    assert np.array_equal(found.probabilities, same.probabilities)
    assert found.predictions.tolist() == same.predictions.tolist()
    with pytest.warns(UserWarning, match=r"stands in for missing numbers: 'age' \(1 row\)"):
        model.predict(typed)


def test_an_unknown_category_is_zero_in_all_and_counted(runs):
    _, path = runs["classes"]
    model = open_run(path).model()
    rows = {"age": [50.0] * 4, "ward": ["C", "attic", "new", "new"], "höhe": [1e6] * 4}
    with pytest.warns(
        UserWarning, match=r"Of the 4 rows .* absent in training .*: 'ward' \(3 rows\)"
    ):
        found = model.probabilities(rows)
    assert np.array_equal(found[1], found[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict({"age": [50.0], "ward": ["C"], "höhe": [1e6]})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"age": [1], "ward": ["C"]}, "has no column 'höhe'; the model was trained with it"),
        ({"ward": ["C"]}, "has no column 'age' and 1 more; the model was trained with"),
        ({"age": ["old"], "ward": ["C"], "höhe": [1]}, "'age' of the rows given holds texts"),
        ({"age": [1, 2], "ward": ["C"], "höhe": [1, 2]}, "'ward' has 1 values and 'age' has 2"),
        ([], "nothing in the rows given"),
        ({}, "nothing in the rows given"),
        ([3], "Rows must be mappings .*, got an object of type list"),
        (np.zeros((2, 3)), "Rows must be mappings .*, got an object of type ndarray"),
        ("nowhere.csv", r"There is no table nowhere\.csv"),
    ],
)
def test_rows_that_do_not_fit_are_refused_in_one_sentence(runs, rows, message):
    with pytest.raises(DataError, match=message):
        open_run(runs["classes"][1]).model().predict(rows)


def test_a_regression_has_no_probabilities(runs, tmp_path):
    table, path = runs["values"]
    with pytest.raises(DataError, match="predicts numbers, which have no probabilities"):
        open_run(path).model().probabilities(held_back(table, [1], tmp_path / "new.csv"))


def test_the_encoder_is_one_of_the_results_and_damage_to_it_is_seen(runs, tmp_path):
    _, path = runs["classes"]
    encoder = open_run(path).encoder()
    assert [column.name for column in encoder.columns] == ["age", "ward", "höhe"]
    assert (encoder.clip, encoder.target, encoder.class_names) == (5.0, "outcome", ("ja", "nein"))
    assert "encoder.json" in json.loads((path / "DONE").read_text())["files"]
    assert open_run(runs["plain"][1]).encoder().clip is None
    content = (path / "encoder.json").read_bytes()
    try:
        (path / "encoder.json").write_bytes(content.replace(b"ja", b"no"))
        with pytest.raises(StoreError, match=r"encoder\.json is missing or damaged"):
            open_run(path).model()
    finally:
        (path / "encoder.json").write_bytes(content)


def test_a_run_that_is_not_finished_has_no_model(tmp_path):
    stopped_run(tmp_path)
    with pytest.raises(DataError, match="is not finished and has no model yet; fedmgda resume"):
        open_run(tmp_path).model()


def test_clients_that_trained_alone_share_no_model(runs, tmp_path):
    spec = replace(open_run(runs["classes"][1]).spec, baseline="alone", rounds=1)
    RunFolder.create(tmp_path / "run", spec)
    carry_on(tmp_path / "run")
    assert open_run(tmp_path / "run").encoder().class_names == ("ja", "nein")
    with pytest.raises(
        DataError, match="has no model: every client trained one by itself, and none is kept"
    ):
        open_run(tmp_path / "run").model()


def test_a_model_that_is_code_is_refused_where_code_is(runs):
    spec = open_run(runs["classes"][1]).spec
    check_model_code(replace(spec, rule=replace(spec.rule, name="mine:rule")))  # it is not needed
    with pytest.raises(SpecError, match=r"model\.name = 'mine:model' would run code"):
        check_model_code(replace(spec, model=replace(spec.model, name="mine:model")))


def test_another_model_than_the_one_that_was_trained_is_refused(runs):
    run = open_run(runs["classes"][1])
    other = replace(run.spec, model=replace(run.spec.model, name="mlp", hidden=(3,)))
    with pytest.raises(SpecError, match="'mlp' is not the model that was trained"):
        TrainedModel(other, run.model_arrays(), run.encoder())


def test_a_run_on_arrays_takes_arrays(tmp_path):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(90, 3)).astype(np.float32)
    targets = np.where(features[:, 0] > 0, "cat", "dog")
    np.savez(tmp_path / "a.npz", features=features, targets=targets, client=np.arange(90) % 3)
    spec = resolve(parse(Spec, {"rounds": 2, "data": {"path": str(tmp_path / "a.npz")}}))
    for _ in execute(RunFolder.create(tmp_path / "run", spec)):
        pass
    run = open_run(tmp_path / "run")
    assert run.encoder().class_names == ("cat", "dog")
    told = run.predictions()
    scores = run.model().score(features[told.rows])
    assert np.abs(scores.probabilities - told.probabilities).max() <= 1e-6
    assert set(scores.predictions) <= {"cat", "dog"}
    with pytest.raises(DataError, match="takes an array of features of shape"):
        run.model().predict([{"x": 1}])
    with pytest.raises(DataError, match=r"cannot take features of shape \(2, 7\)"):
        run.model().predict(np.zeros((2, 7)))


def test_a_run_of_version_0_1_can_be_asked_too():
    found = open_run(FORMAT_1 / "finished").model().score(np.zeros((3, 64), np.float32))
    assert found.probabilities.shape == (3, 10)
    assert found.class_names == tuple("0123456789")


def test_resuming_a_table_writes_the_same_encoder(runs, tmp_path):
    _, path = runs["classes"]
    steps = execute(RunFolder.create(tmp_path / "run", open_run(path).spec))
    next(steps)
    steps.close()
    carry_on(tmp_path / "run")
    assert (tmp_path / "run" / "encoder.json").read_bytes() == (path / "encoder.json").read_bytes()
    assert (tmp_path / "run" / "DONE").read_bytes() == (path / "DONE").read_bytes()


def test_a_parquet_table_is_the_same_rows(runs, tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table, path = runs["classes"]
    raw = read_raw(table).columns
    numbers = {
        name: [float(text) if text else None for text in raw[name]] for name in ("age", "höhe")
    }
    wards = [text or None for text in raw["ward"]]
    parquet.write_table(pa.table(numbers | {"ward": wards}), tmp_path / "new.parquet")
    model = open_run(path).model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(
            model.probabilities(tmp_path / "new.parquet"), model.probabilities(table)
        )


def test_a_model_of_the_users_own_is_built_by_its_code(runs, tmp_path, monkeypatch):
    (tmp_path / "clinic_models.py").write_text(
        "from torch import nn\n"
        "def network(width):\n"
        "    first, last = nn.Linear(7, width), nn.Linear(width, 2)\n"
        "    return nn.Sequential(first, nn.BatchNorm1d(width), last)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    spec = open_run(runs["plain"][1]).spec
    own = ModelSpec(name="clinic_models:network", options={"width": 3})
    RunFolder.create(tmp_path / "run", replace(spec, model=own))
    carry_on(tmp_path / "run")
    run = open_run(tmp_path / "run")
    told = run.predictions()
    new = held_back(runs["plain"][0], told.rows, tmp_path / "new.csv")
    assert np.abs(run.model().probabilities(new) - told.probabilities).max() <= 1e-6
    with pytest.raises(SpecError, match="would run code"):
        run.model(allow_code=False)
