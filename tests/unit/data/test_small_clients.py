"""Tiny clients do not stop a run: they are left out, all of them named."""

import csv

import numpy as np
import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.data import leave_out_small_clients, load_table
from fedmgda.experiments import Spec, build_data, parse, resolve, to_table
from fedmgda.experiments._tag import spec_tag

SIZES = {"oslo": 30, "bergen": 20, "tromsø": 2, "bodø": 1}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "visits.csv"
    owners = [name for name, size in SIZES.items() for _ in range(size)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["town", "x", "ill"])
        writer.writerows(
            [town, i % 11 + 100 * (SIZES[town] < 3), "ny"[i % 2]] for i, town in enumerate(owners)
        )
    return {"path": str(path), "client": "town", "target": "ill"}


def built(data):
    return build_data(resolve(parse(Spec, {"data": data})))


def test_a_run_starts_without_the_tiny_clients_and_names_them_all(table):
    data, notes = built(table)
    assert data.client_names == ("bergen", "oslo")
    assert notes[0] == (
        "2 of 4 clients have fewer than 10 rows (data.min_rows) and are left out: "
        "bodø (1), tromsø (2)."
    )


def test_their_rows_are_in_no_split_and_in_no_statistic(table):
    data, _ = built(table)
    used = np.concatenate(
        [rows for split in (data.train, data.validation, data.test) for rows in split]
    )
    assert sorted(used) == list(range(50))
    trained = np.concatenate(data.train)
    assert data.features[trained, 0].mean() == pytest.approx(0, abs=1e-6)
    assert data.encoder.columns[0].mean < 12  # theirs are above 100


def test_without_the_key_they_are_refused_all_of_them_named(table):
    plain = table | {"encoding": "plain"}
    with pytest.raises(DataError, match=r"Client 'bodø' .* has 1 row .* so do 'tromsø' \(2\)"):
        built(plain)
    assert built(plain | {"min_rows": 3})[0].client_names == ("bergen", "oslo")


def test_nobody_left_is_one_sentence(table):
    with pytest.raises(DataError, match=r"None of the 4 clients has the 31 rows .* largest has 30"):
        built(table | {"min_rows": 31})


def test_a_single_class_that_is_left_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"a,{i % 7},yes" for i in range(20)] + ["b,1,no"] * 3
    path.write_text("\n".join(["c,x,y", *rows]))
    with pytest.raises(DataError, match=r"clients of t\.csv that are left has the target 'yes'"):
        built({"path": str(path), "client": "c", "target": "y"})


def test_many_names_are_shortened_with_their_number():
    rows = [np.arange(1)] * 99 + [np.arange(20)]
    _, _, (note,) = leave_out_small_clients(rows, None, 10)
    assert note.startswith("99 of 100 clients have fewer than 10 rows")
    assert note.endswith("49 (1) and 49 more.")


def test_the_defaults_are_for_tables_and_old_specs_keep_theirs(table):
    spec = resolve(parse(Spec, {"data": table}))
    assert (spec.data.encoding, spec.data.min_rows) == ("guarded", 10)
    assert resolve(spec) == spec
    dealt = resolve(parse(Spec, {"data": {**table, "partition": "iid"}}))
    assert (dealt.data.encoding, dealt.data.min_rows) == ("guarded", None)
    plain = resolve(parse(Spec, {"data": table | {"encoding": "plain"}}))
    assert plain.data.min_rows is None
    digits = resolve(parse(Spec, {}))
    assert (digits.data.encoding, digits.data.min_rows) == (None, None)
    arrays = resolve(parse(Spec, {"data": {"path": "a.npz"}}))
    assert (arrays.data.encoding, arrays.data.min_rows) == (None, 10)
    # The digest of a spec that lacks the keys is what it was before there were any.
    old = {
        key: v for key, v in to_table(spec)["data"].items() if key not in {"encoding", "min_rows"}
    }
    before = parse(Spec, to_table(spec) | {"data": old})
    assert spec_tag(before) != spec_tag(spec)


def test_a_run_folder_without_the_keys_gets_the_data_it_had(table):
    data = {**table, "name": "table", "partition": "natural", "local_split": "shuffled"}
    with pytest.raises(DataError, match="needs at least 3"):
        build_data(parse(Spec, {"data": data}))  # as read from a folder, not resolved
    old, _ = build_data(parse(Spec, {"data": data | {"min_rows": 3}}))
    assert old.encoder.clip is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"partition": "iid", "min_rows": 3}, r"data\.min_rows applies to clients of their own"),
        ({"features": ["x"], "ignore": ["town"]}, r"data\.ignore does not apply beside"),
        ({"min_rows": 2}, r"data\.min_rows must be at least 3"),
        ({"encoding": "best"}, r"data\.encoding must be"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(table, change, message):
    with pytest.raises(SpecError, match=message):
        resolve(parse(Spec, {"data": table | change}))


def test_arrays_have_no_columns():
    with pytest.raises(SpecError, match=r"data\.encoding does not apply to an npz file"):
        resolve(parse(Spec, {"data": {"path": "a.npz", "encoding": "plain"}}))


def test_the_function_refuses_as_before(table):
    with pytest.raises(DataError, match="needs at least 3"):
        load_table(table["path"], target="ill", client="town")
