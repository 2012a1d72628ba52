"""Rows without a target or a client: left out and counted where the encoding is guarded."""

import numpy as np
import pytest

from fedmgda import DataError
from fedmgda.data import RawTable, TableSettings, make_table


def raw_table(late, shop, *, files=None):
    columns = {"x": np.arange(float(len(late))), "shop": shop, "late": late}
    return RawTable(name="t.csv", columns=columns, rows=np.arange(2, len(late) + 2), files=files)


def make(raw, encoding="guarded"):
    return make_table(raw, TableSettings(target="late", client="shop", encoding=encoding))


LATE = ["yes", "", "no", "NA", "yes", "no", "yes", "no", "no"]
SHOP = ["a", "a", "a", "a", "", "b", "b", "b", "a"]


def test_they_are_left_out_and_counted_with_the_row_of_the_file():
    table = make(raw_table(LATE, SHOP))
    assert table.columns[0].values.tolist() == [0, 2, 5, 6, 7, 8]
    assert table.group_names == ("a", "b")
    assert table.class_names == ("no", "yes")
    assert table.targets.tolist() == [1, 0, 0, 1, 0, 0]
    target, client = table.notes
    assert target == (
        "2 of 9 rows have no target in column 'late' ('NA' there means missing) and are left out, "
        "the first of them row 3 of t.csv."
    )
    assert client == ("1 of 7 rows has no client in column 'shop' and is left out: row 6 of t.csv.")


def test_later_messages_name_the_row_of_the_file():
    raw = raw_table(LATE, SHOP)
    raw.columns["x"] = [*map(str, range(8)), "junk"]
    numbers = RawTable(
        name="t.csv",
        columns={name: [*column[:8] * 9, column[8]] for name, column in raw.columns.items()},
        rows=np.arange(2, 75),
    )
    with pytest.raises(DataError, match=r"row 74 of t\.csv has junk"):
        make(numbers)


def test_plain_refuses_them_as_before():
    with pytest.raises(DataError, match=r"target in column 'late' is missing in row 3 of t\.csv"):
        make(raw_table(LATE, SHOP), "plain")


def test_a_column_that_mostly_misses_is_refused():
    with pytest.raises(DataError, match=r"is missing in row 2 of t\.csv and 4 more"):
        make(raw_table([""] * 5 + ["no", "yes", "no", "no"], SHOP))


def test_the_file_of_a_client_is_never_taken_for_missing():
    files = np.array(["na.csv"] * 3 + ["no.csv"] * 5)
    with pytest.raises(DataError, match="client in column 'shop' is missing"):
        make(raw_table(["yes", "no"] * 4, ["na"] * 3 + ["no"] * 5, files=files))
