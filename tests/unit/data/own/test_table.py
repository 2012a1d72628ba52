import re
import sys
from decimal import Decimal

import numpy as np
import pytest

from fedmgda._errors import DataError, MissingDependencyError, SpecError
from fedmgda.data import encode_table, federate, load_table, natural_partition
from fedmgda.data.own._columns import read_columns

VISITS = """hospital,age,ward,readmitted
oslo,40,A,yes
oslo,50,B,no
oslo,60,A,no
bergen,70,B,yes
bergen,80,C,no
bergen,90,A,yes
"""


def write(folder, text, name="visits.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(folder, text=VISITS, **options):
    return load_table(
        write(folder, text), **({"target": "readmitted", "client": "hospital"} | options)
    )


def test_a_table_knows_its_classes_its_clients_and_its_features(tmp_path):
    table = load(tmp_path)
    assert table.class_names == ("no", "yes")
    assert table.targets.tolist() == [1, 0, 0, 1, 0, 1]
    assert table.group_names == ("bergen", "oslo")
    assert table.groups.tolist() == [1, 1, 1, 0, 0, 0]
    assert table.feature_names == ("age", "ward=A", "ward=B", "ward=C")
    assert table.notes == ()


def test_numbers_are_standardised_on_the_training_rows_alone(tmp_path):
    table = load(tmp_path)
    encoded = encode_table(table, np.array([0, 2]))  # ages 40 and 60: mean 50, deviation 10
    assert encoded.dtype == np.float32
    assert encoded[:, 0].tolist() == [-1, 0, 1, 2, 3, 4]
    assert encoded[:, 1:].tolist() == [
        [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]
    ]  # fmt: skip


def test_the_test_rows_of_a_federation_do_not_touch_its_statistics(tmp_path):
    table = load(tmp_path)
    portions = natural_partition(table.groups)
    data = federate(table, portions, seed=1, client_names=table.group_names)
    assert data.client_names == ("bergen", "oslo")
    trained = np.concatenate(data.train)
    assert data.features[trained, 0].mean() == pytest.approx(0, abs=1e-6)
    assert data.features[trained, 0].std() == pytest.approx(1, abs=1e-6)
    outlier = VISITS.splitlines()
    row = int(data.test[0][0])
    outlier[row + 1] = outlier[row + 1].replace(outlier[row + 1].split(",")[1], "1000000")
    changed = federate(load(tmp_path, "\n".join(outlier)), portions, seed=1)
    assert np.array_equal(changed.features[trained], data.features[trained])
    assert not np.array_equal(changed.features[row], data.features[row])


def test_a_regression_target_is_standardised_on_the_training_rows(tmp_path):
    text = "x,y\n" + "".join(f"{i},{1000.5 + i}\n" for i in range(10))
    table = load_table(write(tmp_path, text), target="y")
    assert table.targets[0] == 1000.5
    assert "'y' of visits.csv is standardised on the training rows" in table.notes[0]
    data = federate(table, [np.arange(10)], seed=0)
    assert data.num_classes is None
    assert data.targets.dtype == np.float32
    assert data.targets[data.train[0]].mean() == pytest.approx(0, abs=1e-6)
    assert data.targets[data.train[0]].std() == pytest.approx(1, abs=1e-6)
    assert np.allclose(data.targets, data.features[:, 0], atol=1e-5)


def test_missing_numbers_become_the_training_mean_and_missing_texts_a_category(tmp_path):
    table = load(tmp_path, VISITS.replace("40,A", ",A").replace("70,B", "na,?"))
    ages, wards = table.notes
    assert ages.startswith("Column 'age' of visits.csv lacks 2 of 6 values; the mean of the")
    assert wards.startswith("Column 'ward' of visits.csv lacks 1 of 6 values; they form a category")
    assert table.feature_names == ("age", "ward=A", "ward=B", "ward=C", "ward=missing")
    encoded = encode_table(table, np.array([0, 1, 2]))
    assert encoded[:, 0].tolist() == [0, -1, 1, 0, 5, 7]
    assert encoded[3, 1:].tolist() == [0, 0, 0, 1]


def test_a_constant_column_becomes_zero(tmp_path):
    text = "x,y\n" + "0.1,a\n0.1,b\n0.1,a\n"
    table = load_table(write(tmp_path, text), target="y")
    assert table.groups is None
    assert encode_table(table, np.array([0, 1, 2])).tolist() == [[0], [0], [0]]


def test_a_column_without_a_known_value_in_training_becomes_zero(tmp_path):
    table = load_table(write(tmp_path, "x,y\n,a\n,b\n5,a\n"), target="y")
    assert encode_table(table, np.array([0, 1])).tolist() == [[0], [0], [0]]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["0", "1", "1", "0"], "classification"),
        (["low", "high", "low", "high"], "classification"),
        (["0.5", "1", "1", "2"], "regression"),
        ([str(value) for value in range(21)], "regression"),
        ([str(value) for value in range(20)], "classification"),
    ],
)
def test_the_task_is_guessed_from_the_target(tmp_path, values, task):
    text = "x,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))
    path = write(tmp_path, text)
    table = load_table(path, target="y")
    assert (table.num_classes is None) == (task == "regression")
    assert table.targets.dtype == (np.float32 if task == "regression" else np.int64)
    assert load_table(path, target="y", task="classification").num_classes == len(set(values))


def test_classes_that_are_numbers_keep_their_order(tmp_path):
    text = "x,y\n" + "".join(f"1,{value}\n" for value in (10, 9, 2, 10))
    table = load_table(write(tmp_path, text), target="y")
    assert table.class_names == ("2", "9", "10")
    assert table.targets.tolist() == [2, 1, 0, 2]


def test_clients_that_are_numbers_keep_their_order(tmp_path):
    text = "c,x,y\n" + "".join(f"{c},{i},{i % 2}\n" for i, c in enumerate([10] * 3 + [9] * 3))
    assert load_table(write(tmp_path, text), target="y", client="c").group_names == ("9", "10")


def test_long_numbers_of_clients_are_texts(tmp_path):
    long = "1" * 5000
    text = "c,x,y\n" + "".join(f"{c},{i},{i % 2}\n" for i, c in enumerate([long] * 3 + ["2"] * 3))
    table = load_table(write(tmp_path, text), target="y", client="c")
    assert table.group_names == (long, "2")


def test_control_characters_do_not_reach_the_names(tmp_path):
    text = '"c","x\ny","w","y"\n' + "".join(
        f'"a\x1b[31m\nb",{i},"u\nv","{kind}r"\n' for i, kind in enumerate(["p", "q\n"] * 2)
    )
    table = load_table(write(tmp_path, text), target="y", client="c")
    assert table.group_names == ("a?[31m?b",)
    assert table.feature_names == ("x?y", "w=u?v")
    assert table.class_names == ("pr", "q?r")


def test_classes_that_are_the_same_number_are_one_class(tmp_path):
    text = "x,y\n" + "".join(f"1,{v}\n" for v in ("0", "0.0", "1", "1.0", "+1", "-0", "01"))
    table = load_table(write(tmp_path, text), target="y")
    assert table.class_names == ("0", "1")
    assert table.targets.tolist() == [0, 0, 1, 1, 1, 0, 1]
    text = "x,y\n" + "".join(f"1,{v}\n" for v in ("0.5", "0.50", "1.0"))
    table = load_table(write(tmp_path, text), target="y", task="classification")
    assert table.class_names == ("0.5", "1")


def test_features_may_be_chosen(tmp_path):
    assert load(tmp_path, features=["ward"]).feature_names == ("ward=A", "ward=B", "ward=C")


def test_semicolons_tabs_quotes_and_byte_order_marks_are_read(tmp_path):
    for separator in ";\t":
        assert load(tmp_path, VISITS.replace(",", separator)).group_names == ("bergen", "oslo")
    quoted = "\ufeff" + VISITS.replace("oslo,40", '"os""lo, north",40').replace("\n", "\r\n")
    with pytest.raises(DataError, match=r"Client 'os\"lo, north' in column 'hospital' has 1 row"):
        load(tmp_path, quoted)


JUNK = "x,y\n" + "1,a\n" * 15 + "many,b\n" + "2,b\n" * 4


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (VISITS, {"target": "readmited"}, "no column 'readmited'; did you mean 'readmitted'"),
        (VISITS, {"client": "zzz"}, "no column 'zzz'; it has hospital, age, ward, readmitted"),
        (VISITS, {"features": ["agee"]}, "no column 'agee'; did you mean 'age'"),
        (VISITS + "tromso,33,A,no\n", {}, r"Client 'tromso' .* has 1 row \(row 8 of visits.csv\)"),
        (VISITS.replace("yes", "no"), {}, "Every row of visits.csv has the target 'no'"),
        (
            VISITS.replace("50,B,no", "50,B,"),
            {},
            "target in column 'readmitted' is missing in row 3",
        ),
        (VISITS.replace("oslo,50", " ,50"), {}, "client in column 'hospital' is missing in row 3"),
        (JUNK, {"target": "y", "client": None}, "Column 'x' holds numbers, but row 17 .* has many"),
        (JUNK.replace("many", "inf"), {"target": "y", "client": None}, "row 17 .* has inf"),
        (JUNK.replace("many", "1_0"), {"target": "y", "client": None}, "row 17 .* has 1_0"),
        ("", {}, "visits.csv is empty"),
        ("hospital,age,ward,readmitted\n", {}, "visits.csv is empty"),
        (VISITS.replace("age", "ward"), {}, "two columns called 'ward'"),
        (VISITS.replace("age", ""), {}, "Column 2 of visits.csv has no name"),
        (VISITS + "oslo,3\n", {}, "Row 8 of visits.csv has 2 values and the header has 4"),
        (VISITS.replace("A", "\xff").encode("latin-1"), {}, "visits.csv is not UTF-8 .* at byte"),
        (VISITS + 'oslo,"3', {}, "visits.csv is not a CSV table: unexpected end of data in row 8"),
        ("a,b\n,1\n,2\n", {"target": "b", "client": None}, "Column 'a' of visits.csv has no value"),
        ("b\n1\n2\n", {"target": "b", "client": None}, "no column to predict 'b' from"),
        (VISITS, {"task": "regression"}, "holds texts; regression needs numbers"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, options, sentence):
    with pytest.raises(DataError, match=sentence):
        load(tmp_path, text, **options)


def test_a_column_of_names_is_not_encoded(tmp_path):
    text = "name,x,y\n" + "".join(f"person {i},{i},{i % 2}\n" for i in range(1001))
    path = write(tmp_path, text)
    with pytest.raises(DataError, match=r"'name' of visits.csv has 1001 different values"):
        load_table(path, target="y")
    assert load_table(path, target="y", features=["x"]).feature_names == ("x",)


@pytest.mark.parametrize(
    "values",
    [
        [f"0,{i}" for i in range(100, 110)],
        [f"{i}.5%" for i in range(10)],
        [f"{i} %" for i in range(10)],
        [f"{i},234" for i in range(1, 11)],
        [f"{i}.234,5" for i in range(1, 11)],
        ["0,5"] * 6 + ["many"] * 4,
    ],
)
def test_numbers_in_another_notation_are_refused(tmp_path, values):
    text = "x;y\n" + "".join(f"{value};{i % 2}\n" for i, value in enumerate(values))
    with pytest.raises(DataError, match=f"Column 'x' of visits.csv has numbers like '{values[0]}'"):
        load_table(write(tmp_path, text), target="y")


def test_plain_numbers_among_texts_are_not_another_notation(tmp_path):
    text = "x,y\n" + "".join(f"{x},{i % 2}\n" for i, x in enumerate(["0.125", "1.250", "low"] * 3))
    table = load_table(write(tmp_path, text), target="y")
    assert table.columns[0].categories == ("0.125", "1.250", "low")


def dated(num_days, num_rows):
    return "day,y\n" + "".join(f"day-{i % num_days},{i % 2}\n" for i in range(num_rows))


def test_a_column_of_ids_or_dates_is_refused(tmp_path):
    with pytest.raises(
        DataError, match=r"'day' of visits.csv has 21 different values in 41 rows, such as 'day-0'"
    ):
        load_table(write(tmp_path, dated(21, 41)), target="y")


def test_the_value_shown_of_a_refused_column_is_not_a_plain_number(tmp_path):
    values = [f"{i}.5" for i in range(30)] + ["12h"] * 10
    text = "x,y\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values))
    with pytest.raises(DataError, match="has 31 different values in 40 rows, such as '12h'"):
        load_table(write(tmp_path, text), target="y")


@pytest.mark.parametrize(
    ("num_days", "num_rows", "noted"),
    [(21, 42, False), (20, 39, True), (20, 40, False), (50, 200, False), (51, 200, True)],
)
def test_a_column_of_many_categories_is_noted(tmp_path, num_days, num_rows, noted):
    table = load_table(write(tmp_path, dated(num_days, num_rows)), target="y")
    assert table.num_classes == 2
    assert len(table.notes) == noted
    if noted:
        assert f"'day' of visits.csv is encoded as {num_days} categories" in table.notes[0]


@pytest.mark.parametrize("text", [".", "-", "None", "none", "NULL", "NA", "nan", "?", ""])
def test_the_usual_signs_of_a_missing_value_are_known(tmp_path, text):
    table = load(tmp_path, VISITS.replace("40,A", f"{text},{text}"))
    assert [column.num_missing for column in table.columns] == [1, 1]
    assert table.columns[0].categories is None
    assert table.columns[1].categories[-1] == "missing"
    said = (
        f"missing in row 3 .*; '{re.escape(text)}' there means missing"
        if text
        else "missing in row 3"
    )
    with pytest.raises(DataError, match=said):
        load(tmp_path, VISITS.replace("50,B,no", f"50,B,{text}"))


def test_a_table_that_would_fill_the_memory_is_refused_before_it_does(tmp_path, monkeypatch):
    table = load(tmp_path)
    monkeypatch.setattr("fedmgda.data.own._encoder._MAX_BYTES", 95)
    with pytest.raises(DataError, match=r"visits.csv becomes 96 bytes when it is encoded"):
        encode_table(table, np.arange(6))


def test_one_column_cannot_play_two_parts(tmp_path):
    with pytest.raises(SpecError, match="must name different columns"):
        load(tmp_path, client="readmitted")
    with pytest.raises(SpecError, match="must name different columns"):
        load(tmp_path, features=["age", "readmitted"])


def test_a_file_that_is_not_there_or_of_another_kind_is_refused(tmp_path):
    with pytest.raises(DataError, match="There is no table"):
        load_table(tmp_path / "none.csv", target="y")
    with pytest.raises(DataError, match=r"ends in '.xlsx'"):
        load_table(write(tmp_path, "x", "visits.xlsx"), target="y")


def test_parquet_gives_the_same_table_as_csv(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "hospital": [1000001] * 3 + [1000002] * 3,
        "age": [40.0, None, 60.0, 70.0, 80.0, 90.0],
        "ward": pyarrow.array(["A", "B", None, "B", "C", "A"]).dictionary_encode(),
        "readmitted": ["yes", "no", "no", "yes", "no", "yes"],
        "smokes": [True, False, False, True, False, True],
    }
    path = tmp_path / "visits.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    table = load_table(path, target="readmitted", client="hospital")
    rows = [
        ",".join(("" if v is None else str(v)) for v in row.values())
        for row in pyarrow.table(columns).to_pylist()
    ]
    text = "\n".join(["hospital,age,ward,readmitted,smokes", *rows])
    same = load(tmp_path, text)
    assert table.group_names == same.group_names == ("1000001", "1000002")
    assert table.class_names == same.class_names
    assert table.feature_names == same.feature_names
    rows = np.arange(4)
    assert np.array_equal(encode_table(table, rows), encode_table(same, rows))


@pytest.mark.parametrize("damaged", [b"colour", b"crimson"])
def test_a_text_of_parquet_that_is_no_utf8_is_a_sentence(tmp_path, damaged):
    """Be it the name of a column or a value: it is found only when it is asked for."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "visits.parquet"
    columns = {"colour": ["crimson", "blue"] * 5, "y": [1, 2] * 5}
    parquet.write_table(pyarrow.table(columns), path, compression="none", store_schema=False)
    content = path.read_bytes()
    assert damaged in content
    path.write_bytes(content.replace(damaged, b"\xff" + damaged[1:]))
    with pytest.raises(DataError, match="is not a Parquet table: "):
        read_columns(path)


@pytest.mark.parametrize("kind", ["int64", "uint64", "decimal128"])
def test_whole_numbers_of_parquet_stay_exact(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    big = [2**53, 2**53 + 1] * 3
    exact = pyarrow.decimal128(20, 0) if kind == "decimal128" else getattr(pyarrow, kind)()
    column = pyarrow.array([Decimal(v) for v in big] if kind == "decimal128" else big, exact)
    path = tmp_path / "visits.parquet"
    columns = {"c": column, "x": [*big[:5], None], "y": column}
    parquet.write_table(pyarrow.table(columns), path)
    table = load_table(path, target="y", client="c")
    assert table.group_names == table.class_names == ("9007199254740992", "9007199254740993")
    assert table.groups.tolist() == table.targets.tolist() == [0, 1] * 3
    assert table.columns[0].categories is None
    assert table.columns[0].num_missing == 1


def test_parquet_that_cannot_be_used_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with pytest.raises(DataError, match=r"visits.parquet is not a Parquet table"):
        load_table(write(tmp_path, "junk", "visits.parquet"), target="y")
    path = tmp_path / "lists.parquet"
    parquet.write_table(pyarrow.table({"x": [[1], [2]], "y": [1, 2]}), path)
    with pytest.raises(DataError, match=r"Column 'x' of lists.parquet has the type list"):
        load_table(path, target="y")
    parquet.write_table(pyarrow.table({"x": pyarrow.array([], pyarrow.int64())}), path)
    with pytest.raises(DataError, match=r"lists.parquet is empty"):
        load_table(path, target="x")


def test_without_pyarrow_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        load_table(write(tmp_path, "junk", "visits.parquet"), target="y")
