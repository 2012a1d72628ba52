"""A schema says what a file must be; nothing is guessed, and what does not fit is named."""

import numpy as np
import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.data import GivenColumn, GivenSchema, TableSettings, encoder_of, make_table, read_raw
from fedmgda.experiments import Spec, parse, read_toml, resolve, settle, to_table, to_toml
from tables import write_rows

AGE = GivenColumn(name="age", kind="number")
WARD = GivenColumn(name="ward", kind="category", categories=("B", "A"))
TABLE = {
    "columns": [
        {"name": "age", "kind": "number"},
        {"name": "ward", "kind": "category", "categories": ["B", "A"]},
    ],
    "classes": ["0", "1"],
}


def load(path, **given):
    schema = GivenSchema(**({"columns": (AGE, WARD), "classes": ("0", "1")} | given))
    return make_table(
        read_raw(path), TableSettings(target="ill", encoding="guarded", schema=schema)
    )


@pytest.fixture
def visits(tmp_path):
    rows = [[40, "A", 1, "x"], ["?", "C", 0, "y"], [60, "", "1.0", "z"], [50, "B", 0, "w"]]
    return write_rows(tmp_path / "visits.csv", ["age", "ward", "ill", "name"], rows)


def test_columns_categories_and_classes_are_those_of_the_schema(visits):
    table = load(visits)
    assert table.feature_names == ("age", "ward=B", "ward=A")
    assert (table.class_names, table.targets.tolist()) == (("0", "1"), [1, 0, 1, 0])
    encoded = encoder_of(table, np.array([0, 2])).encode(table.columns, table.name)
    assert encoded[:, 0].tolist() == [-1, 0, 1, 0]
    assert encoded[:, 1:].tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]
    assert "texts that are missing, or no category of data.schema" in table.notes[-1]


def test_new_rows_are_encoded_as_those_of_training(visits):
    """What is missing or unknown means the same wherever the model meets it."""
    table = load(visits)
    encoder = encoder_of(table, np.array([0, 2]))
    columns, _ = encoder.read(read_raw(visits))
    assert np.array_equal(encoder.encode(columns, "t"), encoder.encode(table.columns, table.name))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"unknown": "refuse"}, r"row 3 of visits.csv has 'C' in column 'ward', no category of"),
        ({"classes": ("0", "2")}, r"row 2 of visits.csv has the target '1' in column 'ill', no cl"),
        (
            {"columns": (AGE, GivenColumn(name="name", kind="number"))},
            r"Column 'name' holds numbers after data.schema, but row 2 of visits.csv has x;",
        ),
        (
            {"columns": (AGE, GivenColumn(name="wrd", kind="number"))},
            r"visits.csv has no column 'wrd', which data.schema names; it has age, ward, ill",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(visits, given, sentence):
    with pytest.raises(DataError, match=sentence):
        load(visits, **given)


def test_a_regression_takes_numbers_only(visits):
    assert load(visits, classes=None).class_names is None
    with pytest.raises(DataError, match=r"'ward' must be a number without data.schema.classes"):
        make_table(
            read_raw(visits).kept(np.array([0, 1, 3])),
            TableSettings(
                target="ward", encoding="guarded", schema=GivenSchema(columns=(AGE,), classes=None)
            ),
        )


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"columns": []}, "data.schema.columns must name at least one column"),
        ({"columns": TABLE["columns"] * 2}, "data.schema.columns must differ, got 'age' twice"),
        ({"classes": ["a", "a"]}, "data.schema.classes must differ, got 'a' twice"),
        ({"classes": ["a"]}, "data.schema.classes must be at least two, got 1"),
        ({"classes": ["a", "na"]}, "classes must have names, got 'na', which means missing"),
        ({"columns": [{"name": "a", "kind": "category"}]}, "needs 1 to 1000 categories, got 0"),
        (
            {"columns": [{"name": "a", "kind": "category", "categories": ["missing"]}]},
            "lists 'missing', which is no category",
        ),
        (
            {"columns": [{"name": "a", "kind": "number", "categories": ["x"]}]},
            "is of kind 'number', which has no categories",
        ),
        ({"columns": [{"name": "a", "kind": "date"}]}, "must be 'number' or 'category'"),
        ({"columns": [{"kind": "number"}]}, "data.schema.columns needs the key 'name'"),
        ({"column": []}, "There is no key 'data.schema.column'; did you mean"),
        ({"columns": [{"name": "ill", "kind": "number"}]}, "names 'ill', which is data.target"),
    ],
)
def test_a_schema_that_contradicts_itself_is_refused_in_one_sentence(schema, sentence):
    with pytest.raises(SpecError) as caught:
        resolve(parse(Spec, {"data": {"target": "ill", "schema": TABLE | schema}}))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"features": ["age"]}, "data.features does not apply beside data.schema"),
        ({"ignore": ["age"]}, "data.ignore does not apply beside data.schema"),
        ({"encoding": "plain"}, "data.schema needs data.encoding = 'guarded'"),
        ({"task": "regression"}, "contradicts data.schema, which lists classes"),
        ({"target": None}, "data.target is needed for a table"),
        ({"name": "digits"}, "does not apply to 'digits'"),
    ],
)
def test_keys_that_do_not_go_with_a_schema_are_refused(data, sentence):
    given = {"target": "ill", "schema": TABLE} | data
    table = {key: value for key, value in given.items() if value is not None}
    with pytest.raises(SpecError) as caught:
        resolve(parse(Spec, {"data": table}))
    assert sentence in str(caught.value)


def test_a_spec_with_a_schema_survives_its_file_and_keeps_rows_where_they_are(tmp_path):
    spec = resolve(parse(Spec, {"data": {"target": "ill", "schema": TABLE}}))
    assert resolve(spec) == spec
    place = tmp_path / "spec.toml"
    place.write_text(to_toml(spec))
    assert parse(Spec, read_toml(place)) == spec
    assert to_table(spec)["data"]["schema"]["unknown"] == "missing"
    assert (spec.records.gram, spec.records.predictions, spec.evaluation.metrics) == (
        False, False, None,
    )  # fmt: skip
    assert (spec.data.partition, spec.data.min_rows, spec.data.task) == (
        "natural", 10, "classification",
    )  # fmt: skip
    default = resolve(Spec())
    assert (default.records.gram, default.records.predictions) == (True, True)


def test_a_schema_without_a_file_cannot_be_trained_here():
    spec = resolve(parse(Spec, {"data": {"target": "ill", "schema": TABLE}}))
    with pytest.raises(DataError, match=r"data\.path is not set, and data\.schema says only"):
        settle(spec)
