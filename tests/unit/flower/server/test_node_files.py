"""Nodes with files of their own: the bytes of the pooled table, nothing told but what is listed."""

import json
import logging
from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import DataError, FederationStalledError, SpecError, StoreError
from fedmgda.experiments import RunFolder, execute, open_run, settle, to_toml, verify
from fedmgda.flower.node._node import answer_as
from fedmgda.flower.server import _claims
from fedmgda.flower.server._roster import read_refusals
from fedmgda.flower.wire._end import end_file
from fedmgda.flower.wire._leaving import FIELDS
from fedmgda.flower.wire._messages import Question, to_bytes
from flower_grid import MemoryGrid, grid_of, phases, run_spec as run, with_arrays
from hospitals import (
    COLUMNS,
    LAB,
    PATIENT,
    PATIENTS_DOSE,
    SITES,
    hospital_spec,
    split_by_town,
    write_sites,
)
from runs import finished_run, results, small_spec

REGRESSION = {"target": "days", "schema": {"columns": COLUMNS}}
CASES = {
    "one client in each file": ({}, {}),
    "several clients in each file": ({}, {"client": "town"}),
    "a regression": ({}, REGRESSION),
    "protected": ({"server": {"protect": True}}, {}),
    "balanced classes": ({"clients": {"class_weights": "balanced", "client_lr": "auto"}}, {}),
    "an attacker by name": (
        {"attack": {"name": "scale-update", "clients": ["oslo"], "factor": 2.0}}, {},
    ),
    "a given step, torch": ({"clients": {"client_lr": 0.05, "path": "torch"}}, {}),
    "gradients": ({"evaluation": {"every": 2, "pareto": True}}, {}),
    "predictions by name": ({"records": {"predictions": True}}, {}),
}  # fmt: skip


@pytest.fixture
def sites(tmp_path):
    return write_sites(tmp_path / "sites")


def sentence(path):
    return json.loads(end_file(path).read_text())["message"]


def pooled(folder, path, spec):
    """Carry out the same run where one place holds all files."""
    settled = settle(replace(spec, data=replace(spec.data, path=str(folder))))
    for _ in execute(RunFolder.create(path, settled.spec)):
        pass


def fields_of(answer):
    """Return the names of an answer's fields; what was sent unasked has the name it stands for."""
    names = [*answer.header, *answer.arrays]
    return {n.split(".", 2)[2] if n.startswith("also.") else n for n in names}


def listed(name, phase):
    names = [field.name for field in FIELDS if phase in field.phases]
    return name in names or any(n.endswith("*") and name.startswith(n[:-1]) for n in names)


def check_what_left(left, *, single_rows):
    """Assert that every field is listed, and none holds a value of a patient."""
    hidden = [PATIENT.encode(), str(PATIENTS_DOSE).encode(), b"9000", b".csv"]
    hidden += [np.array([PATIENTS_DOSE], kind).tobytes() for kind in (np.float64, np.float32)]
    assert {phase for phase, _ in left} >= {"hello", "statistics", "train", "evaluate"}
    for phase, answer in left:
        assert [name for name in fields_of(answer) if not listed(name, phase)] == []
        assert single_rows or "predictions.rows" not in answer.arrays
        content = to_bytes(answer)
        assert not any(value in content for value in hidden)


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_of_the_pooled_table_and_nothing_leaves_but_what_is_listed(tmp_path, sites, case):
    table, data = CASES[case]
    everything = split_by_town(sites) if "client" in data else sites
    spec = hospital_spec(table, **data)
    pooled(everything, tmp_path / "here", spec)
    grid, left = grid_of(sites), []

    def tap(question, answer):
        left.append((question.phase, answer))
        return answer

    grid.twist = dict.fromkeys(grid.online, tap)
    assert run(tmp_path / "grid", grid, spec) == 0
    here, there = results(tmp_path / "here"), results(tmp_path / "grid")
    for files in (here, there):  # which rows lie where, a server without rows does not know
        del files["partition.npz"], files["DONE"]
        files.pop("predictions.npz", None)
    assert there == here
    assert len(open_run(tmp_path / "grid").rounds) == 4
    check_what_left(left, single_rows="records" in table)


def test_few_exchanges_before_the_first_round(tmp_path, sites):
    grid = grid_of(sites)
    assert run(tmp_path / "run", grid, hospital_spec()) == 0
    before = [phase for phase, _ in phases(grid)][:5]
    assert before == ["hello", "statistics", "statistics", "hello", "evaluate"]
    settled = grid_of(sites)
    assert run(tmp_path / "other", settled, hospital_spec({"clients": {"client_lr": 0.1}})) == 0
    assert [phase for phase, _ in phases(settled)][:3] == ["hello", "statistics", "hello"]


def test_the_run_can_be_used_and_proved(tmp_path, sites):
    assert run(tmp_path / "run", grid_of(sites), hospital_spec()) == 0
    finished = open_run(tmp_path / "run")
    assert verify(tmp_path / "run").verdict.startswith("verified: 4 rounds")
    row = {"age": 95, "dose": 100, "ward": "A"}
    said = finished.model().predict([row, row | {"age": 20, "ward": "C"}])
    assert said.tolist() == ["yes", "no"]
    assert not {"gram.bin", "predictions.npz"} & {file.name for file in finished.path.iterdir()}


def test_a_field_that_is_not_listed_does_not_pass_the_gate(sites):
    spec, config = hospital_spec(), {"data": str(sites / "oslo.csv")}
    share = {
        "ids": {"oslo": 0}, "num_clients": 1, "encoder": None, "class_weights": None,
        "fingerprint": "f",
    }  # fmt: skip
    asked = {"spec": to_toml(spec), "path": "auto", "share": share, "run": "r"}
    told = answer_as(config, Question(phase="statistics", header=asked))
    assert set(told.arrays) == {"sums", "classes"}
    encoder = {
        "columns": [
            {"name": "age", "mean": 60.0, "scale": 9.0},
            {"name": "dose", "mean": 4e3, "scale": 9e3},
            {"name": "ward", "categories": ["A", "B", "C"]},
        ],
        "clip": 5.0, "target": "ill", "class_names": ["no", "yes"],
    }  # fmt: skip
    spec = replace(spec, clients=replace(spec.clients, client_lr=0.1, per_round=1))
    asked |= {"spec": to_toml(spec), "share": share | {"encoder": encoder}}
    hello = answer_as(config, Question(phase="hello", header=asked))
    assert hello.header["fingerprint"] == "f"
    assert not {"encoder", "target_sums", "rows.train"} & {*hello.header, *hello.arrays}
    model = {"params": hello.arrays["initial"]}
    asked |= {"client_ids": [0], "split": "test", "predictions": True}
    scores = answer_as(config, Question(phase="evaluate", header=asked, arrays=model))
    assert {"losses", "accuracies"} <= set(scores.arrays)
    assert not any(name.startswith("predictions") for name in scores.arrays)
    allowed = replace(spec, records=replace(spec.records, predictions=True))
    asked["spec"] = to_toml(allowed)
    scores = answer_as(config, Question(phase="evaluate", header=asked, arrays=model))
    assert len(scores.arrays["predictions.targets"]) == 9


def test_of_few_values_no_sum_is_told(tmp_path, sites):
    schema = {"columns": [*COLUMNS, LAB], "classes": ["no", "yes"]}
    grid, sums = grid_of(sites), []

    def tap(question, answer):
        sums.extend([answer.arrays["sums"]] if "sums" in answer.arrays else [])
        return answer

    grid.twist = dict.fromkeys(grid.online, tap)
    assert run(tmp_path / "run", grid, hospital_spec(schema=schema)) == 0
    assert len(sums) == 3
    for table in sums:
        assert table[2].tolist() == [0.0] * 5
        assert (table[:2, 0] >= 40).all()
    columns = open_run(tmp_path / "run").encoder().columns
    assert (columns[3].name, columns[3].scale) == ("lab", 0.0)
    trusting = grid_of(sites, **{"min-rows": 3})
    assert run(tmp_path / "other", trusting, hospital_spec(schema=schema)) == 0
    assert open_run(tmp_path / "other").encoder().columns[3].scale > 0


def without_the_ill(sites, site, kept):
    """Leave so many rows of a file that say yes."""
    file = sites / f"{site}.csv"
    head, *rows = file.read_text().splitlines()
    ill = [row for row in rows if row.split(",")[7] == "yes"]
    file.write_text("\n".join([head, *(row for row in rows if row not in ill[kept:])]) + "\n")


def test_a_class_of_few_rows_is_learned_though_nobody_is_told_how_many(tmp_path, sites):
    without_the_ill(sites, "oslo", 4)
    spec = hospital_spec({"clients": {"class_weights": {"yes": 2.0}, "client_lr": "auto"}})
    pooled(sites, tmp_path / "here", spec)
    assert run(tmp_path / "grid", grid_of(sites), spec) == 0
    here, there = open_run(tmp_path / "here"), open_run(tmp_path / "grid")
    assert (tmp_path / "grid" / "rounds.jsonl").read_bytes() == (
        tmp_path / "here" / "rounds.jsonl"
    ).read_bytes()
    assert here.target_sums is not None
    assert there.target_sums is None
    assert verify(tmp_path / "grid").verdict.startswith("verified")
    balanced = hospital_spec({"clients": {"class_weights": "balanced"}})
    assert run(tmp_path / "balanced", grid_of(sites), balanced) == SpecError.exit_code
    assert "do not tell how many (min-rows); give numbers by" in sentence(tmp_path / "balanced")
    trusting = grid_of(sites, **{"min-rows": 3})
    assert run(tmp_path / "trusting", trusting, balanced) == 0


def test_what_is_wrong_with_a_file_stays_at_its_node(tmp_path, sites, caplog):
    schema = {"columns": COLUMNS, "classes": ["no", "yes"], "unknown": "refuse"}
    with caplog.at_level(logging.ERROR, "flwr"):
        code = run(tmp_path / "run", grid_of(sites), hospital_spec(schema=schema))
    assert code == DataError.exit_code
    assert "says: its file cannot be used with this spec" in sentence(tmp_path / "run")
    assert PATIENT not in sentence(tmp_path / "run")
    assert PATIENT in caplog.text
    assert not (tmp_path / "run").exists()


def test_an_error_of_a_client_is_told_by_its_kind_only(tmp_path, sites, caplog):
    spec = hospital_spec({"clients": {"loss": "quoting_loss:loss", "client_lr": 0.1}})
    code = {"allow-code": True}
    assert run(tmp_path / "early", grid_of(sites, **code), spec) == SpecError.exit_code
    assert "it cannot carry out this spec" in sentence(tmp_path / "early")
    late = replace(spec, clients=replace(spec.clients, loss="quoting_loss:late_loss"))
    assert run(tmp_path / "late", grid_of(sites, **code), late) == FederationStalledError.exit_code
    reasons = {f.reason for row in open_run(tmp_path / "late").rounds for f in row.quarantined}
    assert reasons == {"its work raised ValueError"}
    assert PATIENT not in sentence(tmp_path / "early") + sentence(tmp_path / "late")


@pytest.mark.parametrize(
    ("name", "wrong", "reason"),
    [
        ("sums", None, "sums is missing"),
        ("sums", np.zeros((2, 4)), "sums is missing, or no array of shape"),
        ("sums", np.full((2, 5), np.nan), "sums holds what is no finite number"),
        ("sums", np.full((2, 5), -1.0), "sums are not those of at most 48 rows"),
        ("sums", np.full((2, 5), 1e6), "sums are not those of at most 48 rows"),
        ("classes", np.array([48.0, 1.0]), "classes are not those of 48 rows"),
        ("classes", np.array([50.0, -2.0]), "classes are not those of 48 rows"),
    ],
)
def test_statistics_that_cannot_be_end_the_run(tmp_path, sites, name, wrong, reason):
    grid = grid_of(sites)

    def twist(question, answer):
        given = question.phase == "statistics" and name in answer.arrays
        return with_arrays(answer, **{name: wrong}) if given else answer

    grid.twist[100] = twist  # tromso, with 60 rows
    assert run(tmp_path / "run", grid, hospital_spec()) == FederationStalledError.exit_code
    assert f"Node 100 did not send its statistics ({reason}" in sentence(tmp_path / "run")


def test_a_node_that_comes_back_goes_on_with_its_clients(tmp_path, sites):
    grid = grid_of(sites)

    def restart(question, answer):
        if question.phase == "train" and question.header["round"] == 2:
            grid.online[999] = grid.online.pop(100)
            return None
        return answer

    grid.twist[100] = restart
    spec = hospital_spec()
    spec = replace(spec, engine=replace(spec.engine, client_timeout=1.0))
    assert run(tmp_path / "run", grid, spec) == 0
    rounds = open_run(tmp_path / "run").rounds
    assert [[f.client_id for f in row.quarantined] for row in rounds] == [[], [2], [], []]
    events = [json.loads(e) for e in (tmp_path / "run" / "nodes.jsonl").read_text().splitlines()]
    assert [(e["event"], e["node"]) for e in events if e["clients"] == [2]] == [
        ("joined", "100"), ("gone", "100"), ("moved", "999"),
    ]  # fmt: skip


def test_two_files_of_one_name_begin_nothing(tmp_path, sites, monkeypatch):
    monkeypatch.setattr(_claims, "_FORGET", 0.0)
    grid = grid_of(sites)
    grid.online[200] = {"data": str(sites / "bergen.csv"), "client": "oslo"}
    assert run(tmp_path / "run", grid, hospital_spec(), num_nodes=4) == SpecError.exit_code
    said = sentence(tmp_path / "run")
    assert "Nodes 101 and 200 both have a client called 'oslo'; give one of them another" in said
    assert not (tmp_path / "run").exists()


def test_a_namesake_that_is_gone_is_waited_for(tmp_path, sites):
    grid = grid_of(sites)
    grid.online[200] = {"data": str(sites / "oslo.csv")}

    def leave(question, answer):
        del question, grid.online[101]
        return answer

    grid.twist[101] = leave
    assert run(tmp_path / "run", grid, hospital_spec(), num_nodes=3) == 0
    assert [client.name for client in open_run(tmp_path / "run").clients] == [
        "bergen", "oslo", "tromso",
    ]  # fmt: skip


def test_with_a_roster_the_owner_of_a_name_is_believed_and_the_other_told_of(tmp_path, sites):
    grid = grid_of(sites)
    grid.online[99] = {"data": str(sites / "bergen.csv"), "client": "oslo"}
    roster = json.dumps({"100": ["tromso"], "101": ["oslo"], "102": ["bergen"]})
    assert run(tmp_path / "run", grid, hospital_spec(), num_nodes=4, roster=roster) == 0
    run_of = open_run(tmp_path / "run")
    assert [client.name for client in run_of.clients] == ["bergen", "oslo", "tromso"]
    assert next(c for c in run_of.clients if c.name == "oslo").train_examples == 72
    assert [event.sentence() for event in read_refusals(tmp_path / "run" / "nodes.jsonl")] == [
        "Node 99 was refused for client 1: node 101 answers for it."
    ]


def test_a_key_answers_for_its_own_clients_only(tmp_path, sites):
    grid = grid_of(sites)
    roster = json.dumps({"100": ["tromso"], "101": ["bergen"], "102": ["bergen"]})
    assert run(tmp_path / "run", grid, hospital_spec(), roster=roster) == 0
    assert [client.name for client in open_run(tmp_path / "run").clients] == ["bergen", "tromso"]


def test_a_node_without_a_file_among_those_with_one_is_named(tmp_path, sites):
    grid = grid_of(sites, trust=True)
    grid.online[102] = {"partition-id": 2, "num-partitions": 3, "trust": True}
    spec = hospital_spec({"clients": {"client_lr": 0.1}}, path=str(sites))
    assert run(tmp_path / "run", grid, spec) == SpecError.exit_code
    assert "Node 100 has a file of its own and node 102 has none" in sentence(tmp_path / "run")


def test_it_resumes_to_the_same_bytes_and_refuses_other_rows(tmp_path, sites):
    spec, grid = hospital_spec(), grid_of(sites)

    def leave(question, answer):
        if question.phase == "train" and question.header["round"] == 3:
            grid.gone = True
        return answer

    grid.twist[100] = leave
    assert run(tmp_path / "run", grid, spec) == FederationStalledError.exit_code
    assert not open_run(tmp_path / "run").finished
    other = grid_of(write_sites(tmp_path / "more", **(SITES | {"oslo": 91})))
    assert run(tmp_path / "run", other, spec) == StoreError.exit_code
    assert "data is not what the run" in sentence(tmp_path / "run")
    assert run(tmp_path / "run", grid_of(sites), spec) == 0
    assert run(tmp_path / "whole", grid_of(sites), spec) == 0
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def test_a_finished_run_needs_no_nodes(tmp_path, sites):
    assert run(tmp_path / "run", grid_of(sites), hospital_spec()) == 0
    before, nobody = results(tmp_path / "run"), MemoryGrid(num_nodes=0)
    assert open_run(tmp_path / "run").spec != hospital_spec()  # in which all is settled
    assert run(tmp_path / "run", nobody, hospital_spec()) == 0
    assert (nobody.asked, results(tmp_path / "run")) == ([], before)
    assert run(tmp_path / "run", grid_of(sites), hospital_spec({"seed": 8})) == StoreError.exit_code
    assert "already holds a run of another spec" in sentence(tmp_path / "run")


def test_the_schema_of_a_spec_with_a_path_is_for_simulations_too(tmp_path, sites):
    """Where nodes have no files, each makes its part of the data that the path names."""
    spec = settle(hospital_spec(path=str(sites))).spec
    for _ in execute(RunFolder.create(tmp_path / "here", spec)):
        pass
    assert run(tmp_path / "grid", MemoryGrid(), spec) == 0
    assert results(tmp_path / "grid") == results(tmp_path / "here")


def test_a_file_of_its_own_is_in_the_way_of_built_in_data_unless_the_node_trusts(tmp_path, sites):
    finished_run(tmp_path / "here")
    grid, refusing = MemoryGrid(), MemoryGrid()
    for node in (*grid.online.values(), *refusing.online.values()):
        node["data"] = str(sites / "oslo.csv")
    for node in refusing.online.values():
        del node["trust"]
    assert run(tmp_path / "grid", refusing, small_spec()) == SpecError.exit_code
    assert "answers no spec without [data.schema]" in sentence(tmp_path / "grid")
    assert run(tmp_path / "grid", grid, small_spec()) == 0
    assert results(tmp_path / "grid") == results(tmp_path / "here")
