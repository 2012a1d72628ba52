"""Nodes that join, leave, come back and claim what is not theirs, while a run goes on."""

import json
import logging
import time
from dataclasses import replace

import pytest
from flwr.app.error import Error

from fedmgda.experiments import open_run, verify
from flower_grid import MemoryGrid, from_round_2, node_events, run_over
from runs import finished_run, results

SIX = {"data": {"num_clients": 6}, "clients": {"per_round": 4}}


def test_a_node_that_is_gone_fails_its_clients_at_once_and_another_takes_them_over(tmp_path):
    grid = MemoryGrid()
    config = grid.online[101]

    def leave(question, answer):
        if question.phase == "train" and question.header["round"] == 2:
            del grid.online[101]
            return Error(5, "")
        return answer

    def come_back(question, answer):
        if question.phase == "train" and question.header["round"] == 4:
            grid.online[555] = config
        return answer

    grid.twist |= {101: leave, 100: come_back}
    table = SIX | {"clients": {"per_round": 6}, "engine": {"client_timeout": 600.0}, "rounds": 60}
    began = time.monotonic()
    assert run_over(tmp_path / "run", grid, **table) == 0
    assert time.monotonic() - began < 300, "nobody waits for a node that is gone"
    rows = open_run(tmp_path / "run").rounds
    reasons = [{f.client_id: f.reason for f in row.quarantined} for row in rows]
    told = [list(event.values())[:4] for event in node_events(tmp_path / "run")][3:]
    back = told[1][0]  # the round before which the other had answered: on a busy machine later
    assert told == [[3, "gone", "101", [1, 4]], [back, "moved", "555", [1, 4]]]
    assert 5 <= back <= 60
    absent = "no node answers for it"
    assert reasons[:2] == [{}, {1: "its node is gone", 4: "its node is gone"}]
    assert reasons[2 : back - 1] == [{1: absent, 4: absent}] * (back - 3)
    assert reasons[back - 1 :] == [{}] * (61 - back)
    assert verify(tmp_path / "run").verified


def test_a_node_that_claims_the_clients_of_another_is_refused_and_recorded(tmp_path):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()
    grid.online[7] = grid.online[101]  # met first
    grid.online = {node: grid.online[node] for node in (100, 101, 102, 7)}
    roster = json.dumps({100: [0, 3], 101: [1, 4], 102: [2, 5], 7: []})
    assert run_over(tmp_path / "run", grid, roster=roster, **SIX) == 0
    refused = [e for e in node_events(tmp_path / "run") if e["event"] == "refused"]
    assert [(e["node"], e["clients"], e["reason"]) for e in refused] == [
        ("7", [1, 4], "its key is not theirs")
    ]
    assert {node for node, q in grid.asked if q.phase != "hello"} == {100, 101, 102}
    assert results(tmp_path / "run") == results(tmp_path / "here")


def test_without_keys_the_first_that_claims_a_client_keeps_it(tmp_path):
    grid = MemoryGrid()
    config = grid.online[101]

    def double(answer):
        grid.online[7] = config
        return answer

    grid.twist[101] = from_round_2(double)
    assert run_over(tmp_path / "run", grid, **SIX | {"rounds": 60}) == 0
    refused = [e for e in node_events(tmp_path / "run") if e["event"] == "refused"]
    assert [(e["node"], e["clients"], e["reason"]) for e in refused] == [
        ("7", [1, 4], "node 101 answers for them")
    ]


def test_a_node_with_other_data_stays_outside(tmp_path):
    grid = MemoryGrid()
    grid.online[555] = {"partition-id": 1, "num-partitions": 3}
    grid.twist[101] = lambda question, answer: (
        replace(answer, header={**answer.header, "fingerprint": "another"})
        if question.phase == "hello"
        else answer
    )
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    refused = [e for e in node_events(tmp_path / "run") if e["event"] == "refused"]
    assert [e["node"] for e in refused] == ["101"]
    assert "not that of the other nodes" in refused[0]["reason"]


@pytest.mark.parametrize("told", [{"num_clients": 10**13}, {"num_params": 10**13}])
def test_a_number_that_no_federation_has_stays_outside(tmp_path, told):
    grid = MemoryGrid()
    grid.online[7] = grid.online[101]
    grid.twist[7] = lambda question, answer: (
        replace(answer, header={**answer.header, **told}) if question.phase == "hello" else answer
    )
    grid.online = {node: grid.online[node] for node in (7, 100, 101, 102)}  # answers first
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    refused = [e for e in node_events(tmp_path / "run") if e["event"] == "refused"]
    assert [e["node"] for e in refused] == ["7"]


def test_what_a_node_says_is_one_line_of_the_log(tmp_path, caplog):
    grid = MemoryGrid()
    grid.online[7] = grid.online[101]
    words = "no\nINFO : fedmgda: exit 0: The run is finished.\x1b[2J"
    grid.twist[7] = lambda question, answer: (
        replace(answer, header={**answer.header, "error": [1, words]})
        if question.phase == "hello"
        else answer
    )
    with caplog.at_level(logging.INFO, "flwr"):
        assert run_over(tmp_path / "run", grid, **SIX) == 0
    said = [record.getMessage() for record in caplog.records]
    assert sum("exit 0: The run is finished" in line for line in said) == 1
    assert all(line.isprintable() for line in said)
    assert [line for line in said if line.startswith("fedmgda: exit")] == said[-1:]


def test_no_round_waits_for_a_node_that_is_slow_to_say_hello(tmp_path):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()

    def join(answer):
        grid.online[555] = {"partition-id": 1, "num-partitions": 3}
        return answer

    grid.twist |= {101: from_round_2(join), 555: lambda question, answer: None}  # noqa: ARG005
    began = time.monotonic()
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    assert time.monotonic() - began < 100, "its first answer may take two minutes"
    assert [q.phase for node, q in grid.asked if node == 555] == ["hello"]
    assert results(tmp_path / "run") == results(tmp_path / "here")
