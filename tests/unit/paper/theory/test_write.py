import csv

import numpy as np
import pytest

from fedmgda._errors import StoreError
from fedmgda.paper.theory import write_theory
from fedmgda.paper.theory._check import Place, along, at_most


def place(**changes):
    settings = {"claim": "It falls.", "where": "Theorem 2, SPEC P9", "problem": "a line"}
    return Place(**(settings | changes))


def checks():
    x = np.arange(1.0, 5.0)
    return (
        at_most(place(), 1.0, 2.0),
        along(place(axes=("T", "A")), x, 1 / x, 2 / x),
        along(place(claim="As printed.", as_printed=True), x, 3 / x, 2 / x),
    )


def test_the_table_has_a_row_per_check_and_counts_them(tmp_path):
    table, *_ = write_theory(checks(), tmp_path / "results")
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "2 of 2 claims hold, misprints corrected."
    assert lines[1].startswith("0 of 1 statements that are doubted hold")
    assert lines[5] == "| 1 | It falls. | Theorem 2, SPEC P9 | a line | 1 | <= | 2 | yes |"
    assert lines[7].endswith("| **no** |")
    assert len({line.count("|") for line in lines[3:]}) == 1


def test_the_curves_are_written_as_numbers_and_drawn(tmp_path):
    _, numbers, png, pdf = write_theory(checks(), tmp_path)
    rows = list(csv.DictReader(numbers.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 8
    assert rows[1] == {
        "row": "2", "axis": "T", "x": "2", "quantity": "A", "measured": "0.5", "bound": "1",
    }  # fmt: skip
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_without_curves_there_is_no_figure(tmp_path):
    written = write_theory(checks()[:1], tmp_path)
    assert [path.name for path in written] == ["theory.md", "theory.csv"]


def test_a_curve_that_reaches_zero_can_be_drawn(tmp_path):
    curve = along(place(), [1.0, 2.0], [1.0, 0.0], [1.0, 1.0])
    assert len(write_theory([curve], tmp_path)) == 4


def test_a_file_where_the_folder_should_be_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(StoreError, match=r"taken cannot be written: File exists\."):
        write_theory(checks(), tmp_path / "taken")
