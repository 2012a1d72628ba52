"""Run folders of somebody who wants the audit to fail: it ends, and says what is wrong."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fedmgda import verify
from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, parse, read_toml, to_toml, with_overrides
from fedmgda.experiments._tag import spec_tag
from forgery import chained, forge, seal
from runs import copy_of, finished_run

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e308, -1e308, 5e-324, 2**63, "", "x" * 1000, "\x1b[2J", [], {}, [[]]]),
    st.text(max_size=5),
    st.lists(st.floats(-10, 10), max_size=4),
    st.lists(st.integers(-3, 9), max_size=4),
)
tries = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a plain and a protected run, small and with everything a folder can have."""
    folder = tmp_path_factory.mktemp("hostile")
    table = {"clients": {"per_round": 3}, "rounds": 4, "evaluation": {"metrics": "auto"}}
    finished_run(folder / "plain", **table)
    finished_run(folder / "protected", server={"protect": {"allow": 1}, "lr": 3.0}, **table)
    return folder


def places(value, at=()):
    """Yield where in a JSON value something stands."""
    yield at
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        yield from places(item, (*at, key))


def put(value, at, junk):
    """Put something else there."""
    *way, last = at
    for key in way:
        value = value[key]
    value[last] = junk


@given(data=st.data(), kind=st.sampled_from(["plain", "protected"]), junk=JUNK)
@tries
def test_anything_in_a_line_of_a_record(runs, tmp_path_factory, data, kind, junk):
    path = copy_of(runs / kind, tmp_path_factory.mktemp("line") / "run")
    name = data.draw(st.sampled_from(["rounds.jsonl", "evaluations.jsonl"]))

    def change(rows):
        row = data.draw(st.sampled_from(rows))
        put(row, data.draw(st.sampled_from(list(places(row))[1:])), junk)

    forge(path, name, change)
    assert verify(path).verdict


@given(data=st.data(), junk=JUNK)
@tries
@pytest.mark.parametrize("name", ["summary.json", "environment.json", "DONE"])
def test_anything_in_a_table(runs, tmp_path_factory, data, junk, name):
    path = copy_of(runs / "protected", tmp_path_factory.mktemp("table") / "run")
    table = json.loads((path / name).read_text())
    put(table, data.draw(st.sampled_from(list(places(table))[1:])), junk)
    (path / name).write_text(json.dumps(table, indent=2) + "\n")
    if name == "summary.json":
        seal(path)
    assert verify(path).verdict


@given(data=st.data())
@tries
@pytest.mark.parametrize(
    "name", ["model.safetensors", "predictions.npz", "partition.npz", "clients.csv", "gram.bin"]
)
def test_any_bytes_in_a_result(runs, tmp_path_factory, data, name):
    path = copy_of(runs / "plain", tmp_path_factory.mktemp("bytes") / "run")

    def change(content):
        content = bytearray(content)
        start = data.draw(st.integers(0, len(content)))
        junk = data.draw(st.binary(max_size=24))
        content[start : start + data.draw(st.integers(0, 40))] = junk
        return bytes(content)

    forge(path, name, change)
    assert verify(path).verdict


@given(
    key=st.sampled_from(["seed", "rounds", "data.num_clients", "rule.epsilon", "rule.name",
                         "rule.center", "clients.per_round", "clients.only", "attack.clients",
                         "server.schedule", "server.protect", "evaluation.every", "baseline",
                         "rule.options", "clients.class_weights", "evaluation.metrics"]),
    value=st.sampled_from(["0", "1", "-1", "9999999999", "0.5", '"fedavg"', '"x:y"', "true", "[0]",
                           '["north"]', "{ a = 1 }", '"alone"', '"pooled"', '"harmonic"', "[]",
                           '"fedmgda.rules._fedmgda:FedMGDA"', "1e308", '"balanced"', '"auto"']),
)  # fmt: skip
@tries
def test_any_value_of_a_key(runs, tmp_path_factory, key, value):
    path = copy_of(runs / "plain", tmp_path_factory.mktemp("key") / "run")
    table = with_overrides(read_toml(path / "spec.toml"), [f"{key}={value}"])
    try:
        spec = parse(Spec, table)
    except SpecError:
        return
    (path / "spec.toml").write_text(to_toml(spec))
    done = json.loads((path / "DONE").read_text()) | {"spec": spec_tag(spec)}
    (path / "DONE").write_text(json.dumps(done, indent=2) + "\n")
    assert verify(path).verdict


@pytest.mark.parametrize("name", ["spec.toml", "DONE", "rounds.jsonl", "gram.bin", "clients.csv"])
def test_what_is_no_file_is_not_read(runs, tmp_path, name):
    for number, make in enumerate((os.mkfifo, Path.mkdir, lambda it: it.symlink_to("/dev/zero"))):
        path = copy_of(runs / "plain", tmp_path / str(number))
        (path / name).unlink()
        make(path / name)
        assert not verify(path).verified


def test_a_matrix_as_large_as_its_line_says_is_never_made(runs, tmp_path):
    path = copy_of(runs / "plain", tmp_path / "run")
    many = 2**31

    def change(rows):
        rows[0]["gram"] |= {"rows": many, "columns": many}

    forge(path, "rounds.jsonl", change)
    assert not verify(path).verified


def test_a_record_without_end_is_read_as_far_as_its_run_can_go(runs, tmp_path):
    path = copy_of(runs / "plain", tmp_path / "run")
    rows = [json.loads(line) for line in (path / "rounds.jsonl").read_text().splitlines()]
    rows += [rows[-1] | {"round": 5 + extra} for extra in range(500)]
    (path / "rounds.jsonl").write_bytes(chained(rows))
    seal(path)
    audit = verify(path)
    assert not audit.verified
    assert audit.rounds == 5


def test_a_spec_that_asks_for_a_billion_rounds_costs_nothing(runs, tmp_path):
    path = copy_of(runs / "plain", tmp_path / "run")
    text = (path / "spec.toml").read_text()
    (path / "spec.toml").write_text(text.replace("rounds = 4", "rounds = 1000000000"))
    audit = verify(path)
    assert not audit.verified


def test_numbers_that_no_float_holds_are_one_sentence(runs, tmp_path):
    path = copy_of(runs / "protected", tmp_path / "run")

    def change(rows):
        for row in rows:
            row["norms"] = [1e308] * len(row["norms"])
            row["lam"] = [-1e308] * len(row["lam"])

    forge(path, "rounds.jsonl", change)
    with np.errstate(all="raise"):
        assert not verify(path).verified
