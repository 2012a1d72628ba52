"""Two places with files of their own encode them as one place with all rows would."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import DataError
from fedmgda.data import (
    GivenColumn,
    GivenSchema,
    RawTable,
    TableSettings,
    add_statistics,
    client_order,
    federate,
    make_encoder,
    make_table,
    natural_partition,
    part_of,
)

WARDS = ("A", "B", "C")
CLIENTS = ("oslo", "bergen", "10", "9")
ROWS = 160


def schema(classes):
    columns = (
        GivenColumn(name="age", kind="number"),
        GivenColumn(name="cost", kind="number"),
        GivenColumn(name="ward", kind="category", categories=WARDS),
    )
    return GivenSchema(columns=columns, classes=classes)


def raw_of(columns, rows, name="t"):
    taken = {key: np.asarray(values, object)[rows].tolist() for key, values in columns.items()}
    return RawTable(name=name, columns=taken, rows=np.arange(len(rows)))


def table_of(raw, classes):
    settings = TableSettings(
        target="y", client="town", encoding="guarded", min_rows=3, schema=schema(classes)
    )
    return make_table(raw, settings)


@st.composite
def columns_of(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-12, 12))
    numbers = draw(st.sampled_from([0.0, 1.0, 1e9])) + scale * rng.normal(size=ROWS)
    cost = np.where(rng.random(ROWS) < draw(st.floats(0, 1)), "", rng.integers(0, 9, ROWS))
    wards = rng.choice([*WARDS, "D", "?", "missing"], ROWS)
    target = rng.choice(["no", "yes"], ROWS) if draw(st.booleans()) else 1e6 + rng.normal(size=ROWS)
    return {
        "age": [repr(float(number)) for number in numbers],
        "cost": cost.tolist(),
        "ward": wards.tolist(),
        "town": rng.choice(CLIENTS, ROWS, p=[0.1, 0.4, 0.25, 0.25]).tolist(),
        "y": [str(value) for value in target],
    }


@given(columns_of(), st.lists(st.integers(0, 1), min_size=4, max_size=4), st.integers(0, 9))
def test_two_files_encode_as_the_pooled_table_would(columns, nodes, seed):
    classes = ("no", "yes") if columns["y"][0] in {"no", "yes"} else None
    pooled_table = table_of(raw_of(columns, np.arange(ROWS)), classes)
    pooled = federate(
        pooled_table,
        natural_partition(pooled_table.groups),
        seed=seed,
        client_names=pooled_table.group_names,
    )
    home = dict(zip(CLIENTS, nodes, strict=True))
    places = np.array([home[town] for town in columns["town"]])
    parts = [
        part_of(
            table_of(raw_of(columns, np.flatnonzero(places == node)), classes),
            name="", min_rows=3, seed=seed,
        )
        for node in sorted(set(places.tolist()))
    ]  # fmt: skip
    names = client_order(name for part in parts for name in part.client_names)
    assert tuple(names) == pooled.client_names
    ids = [[names.index(name) for name in part.client_names] for part in parts]
    sums = [part.statistics(own) for part, own in zip(parts, ids, strict=True)]
    encoder = make_encoder(pooled_table.schema, add_statistics(sums))
    assert encoder.feature_names == pooled.encoder.feature_names
    for part, own in zip(parts, ids, strict=True):
        data = part.federate(own, len(names), encoder)
        for split in ("train", "validation", "test"):
            held = [len(rows) for rows in data.split(split)]
            assert [held[client] for client in own] == part.sizes[
                :, ("train", "validation", "test").index(split)
            ].tolist()
            assert sum(held) == sum(held[client] for client in own)
            for client in own:
                here, there = data.split(split)[client], pooled.split(split)[client]
                assert data.features[here] == pytest.approx(pooled.features[there], abs=1e-6)
                assert data.targets[here] == pytest.approx(pooled.targets[there], abs=1e-6)


def test_no_category_is_counted_and_none_is_rare():
    columns = {
        "age": [str(i) for i in range(ROWS)],
        "cost": ["1"] * ROWS,
        "ward": ["A"] * ROWS,
        "town": ["oslo"] * ROWS,
        "y": ["no", "yes"] * (ROWS // 2),
    }
    table = table_of(raw_of(columns, np.arange(ROWS)), ("no", "yes"))
    part = part_of(table, name="", min_rows=10, seed=0)
    statistics = part.statistics([0])
    assert statistics.counts == (None, None, None)
    assert make_encoder(table.schema, statistics).feature_names[2:] == (
        "ward=A", "ward=B", "ward=C",
    )  # fmt: skip


def test_a_client_with_few_rows_is_left_out_and_a_place_without_clients_says_so():
    columns = {
        "age": ["1"] * 30,
        "cost": ["1"] * 30,
        "ward": ["A"] * 30,
        "town": ["oslo"] * 25 + ["bergen"] * 5,
        "y": ["no", "yes"] * 15,
    }
    table = table_of(raw_of(columns, np.arange(30)), ("no", "yes"))
    assert part_of(table, name="", min_rows=10, seed=0).client_names == ("oslo",)
    with pytest.raises(DataError, match="None of the 2 clients has the 26 rows"):
        part_of(table, name="", min_rows=26, seed=0)


def test_a_file_without_a_column_of_clients_is_one_client():
    columns = {"age": ["1"] * 20, "cost": ["1"] * 20, "ward": ["A"] * 20, "y": ["no", "yes"] * 10}
    raw = raw_of(columns, np.arange(20))
    settings = TableSettings(target="y", encoding="guarded", schema=schema(("no", "yes")))
    part = part_of(make_table(raw, settings), name="oslo", min_rows=10, seed=0)
    assert (part.client_names, part.sizes.tolist()) == (("oslo",), [[16, 2, 2]])


def test_a_table_that_was_guessed_is_no_part_of_a_federation():
    columns = {"age": ["1", "2"] * 10, "y": ["no", "yes"] * 10}
    table = make_table(raw_of(columns, np.arange(20)), TableSettings(target="y"))
    with pytest.raises(DataError, match=r"was read without data\.schema"):
        part_of(table, name="oslo", min_rows=3, seed=0)
