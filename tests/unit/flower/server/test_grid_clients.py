"""A run whose clients are asked over a grid: the same bytes, few exchanges, every fault named."""

import json
import logging
import time
from dataclasses import replace

import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import open_run, verify
from fedmgda.flower.server import _waiting
from fedmgda.flower.server_app import Settings
from fedmgda.flower.wire._end import end_file
from flower_grid import MemoryGrid, phases, run_over
from runs import finished_run, results

SIX = {"data": {"num_clients": 6}, "clients": {"per_round": 4}}
CASES = {
    "digits": SIX,
    "torch path": {"data": {"num_clients": 6}, "clients": {"per_round": 4, "path": "torch"}},
    "protected": SIX | {"server": {"protect": True}},
    "protected but for one": SIX | {"server": {"protect": {"allow": 1}}},
    "AFL with its average": SIX | {"rule": {"name": "afl"}},
    "q-fedavg": SIX | {"rule": {"name": "q-fedavg", "q": 1.0}},
    "scaled losses": {"attack": {"name": "scale-loss", "clients": [1], "factor": 3.0}},
    "scaled updates": {"attack": {"name": "scale-update", "clients": [1], "factor": 3.0}},
    "gradients and selection": SIX | {"evaluation": {"every": 3, "pareto": True, "select": "loss"}},
    "losses while training": {
        "data": {"num_clients": 6}, "clients": {"per_round": 4, "reported_loss": "during"},
    },
    "diverging": {
        "data": {"num_clients": 6}, "rule": {"name": "fedavg"},
        "clients": {"per_round": 4, "client_lr": 1e36},
    },
    "alone": {"baseline": "alone", "rounds": 2, "data": {"num_clients": 4}},
    "regression": {"data": {"name": "quadratics"}, "model": {}, "clients": {}},
    "named clients": {"data": {"name": "remote_table:towns"}, "model": {"name": "logistic"}},
    "named attacker": {
        "data": {"name": "remote_table:towns"}, "model": {"name": "logistic"},
        "attack": {"name": "scale-update", "clients": ["Bern"], "factor": 2.0},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_of_a_run_in_this_process(tmp_path, case):
    finished_run(tmp_path / "here", **CASES[case])
    assert run_over(tmp_path / "grid", MemoryGrid(), **CASES[case]) == 0
    assert results(tmp_path / "grid") == results(tmp_path / "here")
    audit = verify(tmp_path / "grid")
    assert audit.verified
    assert "nodes.jsonl" in audit.not_covered
    assert "nodes.jsonl" not in verify(tmp_path / "here").not_covered


@pytest.mark.parametrize(
    ("table", "a_round", "evaluated"),
    [
        ({"evaluation": {"every": 2, "improved": False}}, ["train"], ["evaluate"]),
        ({"evaluation": {"every": 2}}, ["train", "evaluate"], ["evaluate"]),
        (CASES["losses while training"], ["train", "evaluate"], ["evaluate"]),
        (CASES["protected"], ["train", "evaluate"], ["evaluate"]),
        (
            {"evaluation": {"every": 2, "improved": False, "pareto": True, "select": "accuracy"}},
            ["train"],
            ["evaluate"],
        ),
    ],
)
def test_no_more_exchanges_than_it_takes(tmp_path, table, a_round, evaluated):
    grid = MemoryGrid()
    assert run_over(tmp_path / "run", grid, **SIX | table) == 0
    found = phases(grid)
    expected = [("hello", 0), *((phase, 0) for phase in evaluated)]
    for number in range(1, 7):
        expected += [(phase, number) for phase in a_round]
        expected += [(phase, number) for phase in evaluated if number % 2 == 0]
    assert found == [*expected, ("evaluate", 6)]  # the last is what is kept of single examples


def test_a_message_carries_all_clients_of_its_node_and_no_others(tmp_path):
    grid = MemoryGrid()
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    for node, question in grid.asked:
        if question.phase != "hello":
            assert question.header["client_ids"]
            assert all(i % 3 == node - 100 for i in question.header["client_ids"])
    exchanges = [(q.header["exchange"], node) for node, q in grid.asked]
    assert len(set(exchanges)) == len(exchanges)


def test_the_server_says_what_computes(tmp_path):
    grid = MemoryGrid()
    run_over(tmp_path / "run", grid, **SIX)
    paths = [q.header["path"] for _, q in grid.asked]
    assert paths == ["auto"] * 3 + ["compiled"] * (len(paths) - 3)
    # One node that has no kernels, and all compute with torch.
    other = MemoryGrid()
    other.twist[101] = lambda question, answer: (
        replace(answer, header={**answer.header, "path": "torch"})
        if question.phase == "hello"
        else answer
    )
    run_over(tmp_path / "other", other, **SIX)
    assert {q.header["path"] for _, q in other.asked[3:]} == {"torch"}
    assert open_run(tmp_path / "other").environment.path == "torch"


def ended(path):
    return json.loads(end_file(path).read_text())


def test_too_few_nodes_end_the_run_within_the_deadline(tmp_path):
    table = SIX | {"engine": {"client_timeout": 1.0}}
    began = time.monotonic()
    assert run_over(tmp_path / "run", MemoryGrid(2), **table) == 6
    assert time.monotonic() - began < 60
    said = ended(tmp_path / "run")
    assert said["exit_code"] == 6
    assert said["message"].startswith("2 of 3 nodes joined within 1 s (100 and 101); start")
    assert "a node whose key is not looks as if it were not started" in said["message"]
    grid = MemoryGrid()
    del grid.online[101]
    assert run_over(tmp_path / "run", grid, num_nodes=2, **table) == 6
    assert "none answers for client 1 and 4" in ended(tmp_path / "run")["message"]


def test_whoever_waits_for_nodes_is_told_how_many_there_are(tmp_path, monkeypatch):
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    logger = logging.getLogger("flwr")
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(_waiting, "_EVERY", 0.2)
    table = SIX | {"engine": {"client_timeout": 2.0}}
    assert run_over(tmp_path / "run", MemoryGrid(2), **table) == 6
    waits = [line for line in told if "2 of 3 nodes are connected" in line]
    assert len(waits) > 1
    assert waits[0].startswith("fedmgda: ")


@pytest.mark.parametrize("round_num", [1, 4])
def test_a_superlink_that_goes_away_costs_nothing_that_was_reached(tmp_path, round_num):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()

    def leave(question, answer):
        grid.gone = question.phase == "train" and question.header["round"] == round_num
        return answer

    grid.twist[102] = leave
    table = SIX | {"engine": {"checkpoint_seconds": 1000.0}}
    assert run_over(tmp_path / "run", grid, **table) == 6
    assert "SuperLink" in ended(tmp_path / "run")["message"]
    assert len(open_run(tmp_path / "run").rounds) == round_num - 1
    grid = MemoryGrid()
    assert run_over(tmp_path / "run", grid, **table) == 0
    assert min(q.header["round"] for _, q in grid.asked if q.phase == "train") == round_num
    ours, theirs = results(tmp_path / "run"), results(tmp_path / "here")
    assert {n for n in ours if ours[n] != theirs[n]} == set()


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        ({"baseline": "pooled"}, 2, "needs all rows in one place"),
        ({"data": {"name": "no_such_module:data"}, "model": {}}, 2, "Node 100 says"),
        ({"clients": {"client_lr": "auto"}, "model": {"hidden": []}}, 2, "Node 100 says"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(tmp_path, table, code, said):
    assert run_over(tmp_path / "run", MemoryGrid(), **table) == code
    assert ended(tmp_path / "run")["exit_code"] == code
    assert said in ended(tmp_path / "run")["message"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "must give out"),
        ({"out": "here"}, "absolute"),
        ({"out": "/there", "num-nodes": "3"}, "num-nodes"),
        ({"out": "/there", "num-nodes": 0}, "at least 1"),
        ({"out": "/there", "num-nodes": 3, "spec": 1}, "must give spec"),
    ],
)
def test_a_run_config_that_is_none_is_refused(config, said):
    with pytest.raises(SpecError, match=said):
        Settings.of(config)


def test_a_node_is_told_the_losses_of_its_own_clients_only(tmp_path):
    grid = MemoryGrid()
    assert run_over(tmp_path / "run", grid, **SIX | {"clients": {"per_round": 6}}) == 0
    told = [
        (node - 100, client % 3)
        for node, question in grid.asked
        for client in question.arrays.get("known_ids", [])
    ]
    assert told, "losses that were measured after a round are known in the next"
    assert all(node == partition for node, partition in told)
