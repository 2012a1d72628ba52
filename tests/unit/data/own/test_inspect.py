"""What a column is taken for: ids and dates are seen, amounts are not mistaken for them."""

import datetime

import numpy as np
import pytest

from fedmgda.data import RawTable, inspect_columns, read_raw
from fedmgda.data.own._dates import is_date

RNG = np.random.default_rng(0)
ROWS = 200


def inspect(**columns):
    """Return the facts of some columns, by name."""
    size = len(next(iter(columns.values())))
    raw = RawTable(
        name="t.csv",
        columns={
            k: v if isinstance(v, np.ndarray) else list(map(str, v)) for k, v in columns.items()
        },
        rows=np.arange(2, size + 2),
    )
    return {facts.name: facts for facts in inspect_columns(raw)}


def kind_of(values, name="x"):
    return inspect(**{name: values})[name].kind


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", range(1, ROWS + 1)),
        ("x", RNG.permutation(ROWS)),
        ("x", range(1000, 1000 + ROWS)),
        ("x", np.delete(np.arange(1.0, ROWS), RNG.choice(ROWS - 1, 12, replace=False))),
        ("PatientID", RNG.choice(10**6, ROWS, replace=False)),
        ("customer_key", RNG.choice(10**6, ROWS, replace=False)),
        ("PID", np.resize(RNG.choice(10**9, ROWS - 60, replace=False), ROWS)),
        ("phone", RNG.choice(10**9, ROWS, replace=False) + 10**10),
        ("x", [f"{value:06d}" for value in RNG.choice(10**5, ROWS, replace=False)]),
        ("x", [f"{value:032x}" for value in RNG.choice(10**9, ROWS, replace=False)]),
        ("name", [f"person {i}" for i in range(ROWS)]),
        ("street", [f"street {i % 1200}" for i in range(5000)]),
    ],
)  # fmt: skip
def test_what_names_rows_is_an_id(name, values):
    facts = inspect(**{name: values})[name]
    assert facts.kind == "id"
    assert facts.why


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("price", RNG.choice(np.arange(100_000, 999_999), ROWS, replace=False)),
        ("price", np.sort(RNG.choice(np.arange(100_000, 999_999), ROWS, replace=False))),
        ("income", RNG.choice(10**6, ROWS, replace=False)),
        ("paid", RNG.choice(10**5, ROWS, replace=False)),
        ("bidAmount", RNG.choice(10**5, ROWS, replace=False)),
        ("area", np.round(RNG.normal(1500, 500, ROWS))),
        ("identity_score", RNG.normal(size=ROWS)),
        ("id", RNG.normal(size=ROWS)),  # measurements, whatever they are called
        ("air_quality_index", RNG.choice(400, ROWS, replace=False)),
        ("store_id", np.arange(ROWS) % 7),
        ("id", range(1, 20)),  # too few to say
        ("year", 1900 + np.arange(ROWS) % 120),
        ("population", RNG.choice(np.arange(10**6, 10**7), ROWS, replace=False)),
    ],
)
def test_amounts_stay_numbers(name, values):
    assert kind_of(np.asarray(values, float), name) == "number"


def test_what_may_be_an_id_is_kept_with_a_doubt():
    facts = inspect(
        store_id=np.arange(ROWS) % 7,
        population=RNG.choice(np.arange(10**6, 10**7), ROWS, replace=False),
        price=RNG.choice(10**5, ROWS, replace=False),
        shop=[f"shop {i % 60}" for i in range(ROWS)],
    )
    assert "called like an id" in facts["store_id"].doubt
    assert "of 7 digits" in facts["population"].doubt
    assert facts["shop"].doubt == "becomes 60 categories"
    assert facts["price"].doubt == ""


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%y", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M",
        "%Y-%m-%d %H:%M:%S.%f+00:00", "%d %b %Y", "%d-%b-%y", "%B %d, %Y", "%b %Y", "%Y-%m",
        "%H:%M", "%I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%Y%m%d", "%Y/%m/%d",
    ],
)  # fmt: skip
def test_dates_are_dates_however_often_they_come(form):
    start = datetime.datetime(2023, 1, 30, 13, 5, tzinfo=datetime.UTC)
    hours = [start + datetime.timedelta(hours=31 * i) for i in range(102)]
    for repeats in (1, 3):
        values = [moment.strftime(form) for moment in hours] * repeats
        assert kind_of(values) == "date", values[0]


@pytest.mark.parametrize(
    "text", ["12.5", "1.2.3.4", "2024", "31/31/2024", "A-12-2024", "24-hour", "may", "", "1/2"]
)
def test_other_texts_are_not(text):
    assert not is_date(text)


def test_constants_and_empty_columns_are_told():
    facts = inspect(
        one=["a"] * 4, none=["", "NA", "?", "-"], same=["1", "", "1.0", "1"], some="abca"
    )
    assert {name: about.kind for name, about in facts.items()} == {
        "one": "constant", "none": "empty", "same": "constant", "some": "category",
    }  # fmt: skip
    assert facts["same"].num_missing == 1
    assert (facts["some"].num_distinct, facts["some"].examples) == (3, ("a", "b", "c"))


def test_whether_a_text_is_missing_is_a_feature():
    assert kind_of(["yes", "", "yes", ""]) == "category"


def test_numbers_in_another_notation_are_not_dropped_as_ids():
    facts = inspect(x=[f"{i},{i % 10}5" for i in range(100)])["x"]
    assert (facts.kind, facts.doubt) == ("category", "has numbers like '0,05'")


def test_parquet_dates_are_dates(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    days = [datetime.date(2024, 1, 1 + i % 28) for i in range(40)]
    moments = pa.array([1_700_000_000_123_456_789 + i for i in range(40)], pa.timestamp("ns"))
    zoned = pa.array([None, *range(39)], pa.timestamp("ms", tz="UTC"))
    table = pa.table({"day": days, "at": moments, "utc": zoned, "x": list(range(0, 80, 2))})
    parquet.write_table(table, tmp_path / "t.parquet")
    facts = {about.name: about for about in inspect_columns(read_raw(tmp_path / "t.parquet"))}
    assert [facts[name].kind for name in ("day", "at", "utc")] == ["date"] * 3
    assert facts["utc"].num_missing == 1
