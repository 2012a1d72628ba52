"""The guarded encoding: no id, no date, no outlier, and sums that two clients could send."""

import csv

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import DataError, SpecError
from fedmgda.data import (
    RawTable,
    Statistics,
    TableSettings,
    add_statistics,
    encode_table,
    encoder_of,
    make_encoder,
    make_table,
    rare_notes,
    read_raw,
    statistics_of,
)
from tables import write_rows

RNG = np.random.default_rng(1)
ROWS = 120


@pytest.fixture
def visits(tmp_path):
    """A table as people have them: an id, a date, a constant, an outlier and a rare category."""
    path = tmp_path / "visits.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["visit_id", "day", "country", "empty", "age", "ward", "ill"])
        for i in range(ROWS):
            day = f"2024-01-{1 + i % 28:02d}"
            age = 1e9 if i == 0 else "" if i == 1 else 20 + 7 * i % 60
            ward = "X" if i == 2 else "ABC"[i % 3]
            writer.writerow([1000 + 3 * i, day, "NO", "", age, ward, "ny"[i % 2]])
    return path


def load(path, **settings):
    return make_table(
        read_raw(path), TableSettings(**({"target": "ill", "encoding": "guarded"} | settings))
    )


def test_ids_dates_and_constants_are_left_out_with_one_note(visits):
    table = load(visits)
    assert [column.name for column in table.columns] == ["age", "ward"]
    note = table.notes[0]
    for name, why in (
        ("visit_id", "is called like an id"), ("day", "holds dates like '2024-01-01'"),
        ("country", "is 'NO' in every row"), ("empty", "has no value"),
    ):  # fmt: skip
        assert f"{name!r} {why}" in note


def test_the_plain_encoding_takes_them_as_it_always_did(visits):
    table = load(visits, encoding="plain", ignore=("empty",))
    names = [column.name for column in table.columns]
    assert names == ["visit_id", "day", "country", "age", "ward"]


@pytest.mark.parametrize(("name", "kind"), [("visit_id", "an id"), ("day", "a date")])
def test_an_id_or_a_date_that_is_named_is_refused(visits, name, kind):
    with pytest.raises(DataError, match=f"Column '{name}' of visits.csv .*: {kind}, which"):
        load(visits, features=("age", name))


def test_what_only_counts_the_rows_is_taken_if_it_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(100)))
    assert [c.name for c in load(path, target="y", features=("x",)).columns] == ["x"]
    with pytest.raises(DataError, match=r"'x' counts the rows, from 0 to 99; name in data\.f"):
        load(path, target="y")


def test_a_constant_that_is_named_becomes_zero(visits):
    table = load(visits, features=("country", "age"))
    encoded = encode_table(table, np.arange(ROWS))
    assert encoded[:, 0].tolist() == [1.0] * ROWS


def test_columns_can_be_left_out(visits):
    assert [column.name for column in load(visits, ignore=("ward",)).columns] == ["age"]
    with pytest.raises(DataError, match="no column 'wrad'; did you mean 'ward'"):
        load(visits, ignore=("wrad",))
    with pytest.raises(SpecError, match=r"data\.ignore must name different columns"):
        load(visits, ignore=("ill",))
    with pytest.raises(DataError, match="no column to predict 'ill' from: 'visit_id' is called"):
        load(visits, ignore=("ward", "age"))


def test_an_outlier_does_not_leave_the_bounds_and_a_missing_number_is_the_mean(visits):
    table = load(visits)
    rows = np.arange(1, ROWS)
    encoded = encode_table(table, rows)
    assert encoded[0, 0] == 5.0  # 1e9 years, unclipped about 6e7 deviations
    assert encoded[1, 0] == 0.0
    assert np.abs(encoded).max() == 5.0
    assert encoded[rows, 0].mean() == pytest.approx(0, abs=1e-6)
    assert encoded[rows, 0].std() == pytest.approx(1, abs=1e-2)  # but for the missing one


def test_a_category_that_no_training_row_has_is_zero_in_all(visits):
    table = load(visits)
    known = np.delete(np.arange(ROWS), 2)
    encoder = encoder_of(table, known)
    assert encoder.feature_names == ("age", "ward=A", "ward=B", "ward=C")
    assert encoder.encode(table.columns, "t")[2, 1:].tolist() == [0, 0, 0]
    assert rare_notes(table, encoder)[0].endswith("none of the others: 'ward' (1 of 4).")
    assert encoder_of(table, np.arange(ROWS)).feature_names[-1] == "ward=X"


@pytest.mark.parametrize(("rows", "least"), [(99, 1), (200, 2), (499, 4), (500, 5), (10**6, 5)])
def test_a_category_is_rare_by_the_size_of_the_table(visits, rows, least):
    schema = load(visits).schema
    counts = (None, (least, least - 1, rows, 0))
    empty = statistics_of(schema, load(visits).columns, load(visits).targets, np.arange(0))
    statistics = Statistics(num_rows=rows, sums=empty.sums, counts=counts)
    assert make_encoder(schema, statistics).columns[1].categories == ("A", "C")


@given(st.lists(st.integers(0, 2), min_size=ROWS, max_size=ROWS))
def test_clients_that_send_sums_get_the_encoder_of_the_pooled_table(owners):
    target = 1e9 + RNG.normal(size=ROWS)
    raw = {
        "big": 1e9 + RNG.normal(size=ROWS),
        "ward": ["ABCD"[i % 4] for i in range(ROWS)],
        "y": target,
    }
    table = make_table(
        RawTable(name="t", columns=raw, rows=np.arange(ROWS)),
        TableSettings(target="y", encoding="guarded"),
    )
    parts = [
        statistics_of(
            table.schema, table.columns, table.targets, np.flatnonzero(np.array(owners) == client)
        )
        for client in range(3)
    ]
    federated = make_encoder(table.schema, add_statistics(parts))
    pooled = encoder_of(table, np.arange(ROWS))
    assert federated.feature_names == pooled.feature_names
    assert federated.encode(table.columns, "t") == pytest.approx(
        pooled.encode(table.columns, "t"), abs=1e-6
    )
    assert pooled.encode_targets(table.targets).std() == pytest.approx(1, abs=1e-6)
    assert federated.target_scale == pytest.approx(pooled.target_scale, rel=1e-9)


@pytest.mark.parametrize("prices", [["7.5"], ["7.5e-300", "8e-300", "8.5e-300"]])
def test_a_target_that_does_not_differ_is_refused(tmp_path, prices):
    rows = [[i % 7, prices[i % len(prices)]] for i in range(80)]
    table = load(write_rows(tmp_path / "t.csv", ["x", "price"], rows), target="price")
    with pytest.raises(DataError, match=r"'price' of t.csv is .* there is nothing to learn\.$"):
        encoder_of(table, np.arange(64))


def test_a_table_of_rare_categories_only_is_refused(tmp_path):
    rows = [[f"k{i // 4}", "ab"[i % 2]] for i in range(4000)]
    table = load(write_rows(tmp_path / "t.csv", ["kind", "ill"], rows))
    with pytest.raises(DataError, match=r"to predict 'ill' from: every category of 'kind' is too"):
        encoder_of(table, np.arange(4000))
