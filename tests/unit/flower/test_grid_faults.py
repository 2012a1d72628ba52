"""Nodes that fail, lie, leave and come back: each recorded, and nobody else is worse off."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from flwr.app import ArrayRecord, RecordDict
from flwr.app.error import Error

from fedmgda.experiments import open_run, verify
from fedmgda.flower.server_app import end_file
from flower_grid import MemoryGrid, node_events, run_over, with_arrays
from runs import finished_run, results

SIX = {"data": {"num_clients": 6}, "clients": {"per_round": 4}}


def training(change):
    """Return a twist of answers to train questions, from round 2 on."""

    def twist(question, answer):
        if question.phase != "train" or question.header["round"] < 2:
            return answer
        return change(answer)

    return twist


def spoilt(name, value):
    def change(answer):
        array = answer.arrays[name].copy()
        array[0] = value
        return with_arrays(answer, **{name: array})

    return training(change)


def silence(answer):
    return None


def empty(answer):
    return RecordDict({"arrays": ArrayRecord()})


def errs(code, reason):
    return lambda answer: Error(code, reason)  # noqa: ARG005


FAULTS = {
    "raises": (
        training(errs(2, "ValueError: no  room\nleft")),
        "its ClientApp raised an error (ValueError: no room left)",
    ),
    "NaN": (spoilt("updates", np.nan), "160 NaN in the update"),
    "infinite loss": (spoilt("losses", np.inf), "loss is inf"),
    "negative count": (spoilt("num_examples", -3.0), "num_examples is -3"),
    "wrong shape": (
        training(lambda a: with_arrays(a, updates=a.arrays["updates"][:, :1])),
        "updates is float32 of shape (2, 1), not float32 of shape (2, 160)",
    ),
    "wrong type": (
        training(lambda a: with_arrays(a, updates=a.arrays["updates"].astype(np.float64))),
        "updates is float64 of shape (2, 160), not float32 of shape (2, 160)",
    ),
    "missing key": (
        training(lambda a: with_arrays(a, updates=None)), "its reply has no 'updates'",
    ),
    "empty reply": (
        training(empty),
        "its reply cannot be read: there is no ConfigRecord 'fedmgda'",
    ),
    "another's client": (
        training(lambda a: with_arrays(a, client_ids=np.array([1, 0]))),
        "its node answered for client 0, who was not asked of it",
    ),
    "one client twice": (
        training(lambda a: with_arrays(a, client_ids=np.array([1, 1]))), "duplicate reply",
    ),
    "another round": (
        training(lambda a: replace(a, header={**a.header, "round": 1})),
        "its reply is to another round",
    ),
    "another run": (
        training(lambda a: replace(a, header={**a.header, "run": "yours"})),
        "its reply is to another run",
    ),
    "killed": (training(errs(8, "")), "its ClientApp was ended by the system"),
    "silent": (training(silence), "no reply within 0.3 s"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_recorded_with_client_and_reason_and_costs_nobody_else(tmp_path, fault):
    grid = MemoryGrid()
    grid.twist[101], reason = FAULTS[fault]
    table = SIX | {"clients": {"per_round": 6}, "engine": {"client_timeout": 0.3}, "rounds": 3}
    began = time.monotonic()
    assert run_over(tmp_path / "run", grid, **table) == 0
    assert time.monotonic() - began < 20
    first, *others = open_run(tmp_path / "run").rounds
    assert not first.quarantined
    for row in others:
        hit = {f.client_id: f.reason for f in row.quarantined}
        assert set(hit) in ({1}, {1, 4}), hit
        assert set(hit.values()) == {reason}
        assert set(row.client_ids) == set(range(6)) - set(hit)
        assert row.failed is None


def test_the_second_reply_to_a_question_does_not_count(tmp_path):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()

    def twice(question, answer):
        doubled = {
            name: array * 2 if name == "updates" else array for name, array in answer.arrays.items()
        }
        return [answer, replace(answer, arrays=doubled)]

    grid.twist[101] = twice
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    assert results(tmp_path / "run") == results(tmp_path / "here")


def test_a_late_reply_enters_nothing(tmp_path):
    """Of rounds 2 and 3 one node's replies come in the next exchange, if anybody takes them."""
    grid, kept = MemoryGrid(), []

    def late(question, answer):
        held, kept[:] = list(kept), []
        if question.phase == "train" and question.header["round"] in {2, 3}:
            kept.append(answer)
            return held or None
        return [*held, answer]

    grid.twist[101] = late
    table = SIX | {"clients": {"per_round": 6}, "engine": {"client_timeout": 0.3}, "rounds": 5}
    assert run_over(tmp_path / "run", grid, **table) == 0
    reasons = [{f.reason for f in row.quarantined} for row in open_run(tmp_path / "run").rounds]
    assert reasons[0] == set()
    assert reasons[1] == {"no reply within 0.3 s"}
    assert reasons[2] == {"its reply is to another round and exchange"}
    assert reasons[3] == {"its reply is to another round and exchange"}
    assert reasons[4] == set()


def test_who_did_not_answer_is_not_waited_for_again_in_the_same_round(tmp_path):
    grid = MemoryGrid()
    grid.twist[101] = training(silence)
    table = SIX | {
        "clients": {"per_round": 6}, "engine": {"client_timeout": 1.0}, "rounds": 2,
        "evaluation": {"every": 1},
    }  # fmt: skip
    began = time.monotonic()
    assert run_over(tmp_path / "run", grid, **table) == 0
    assert time.monotonic() - began < 10
    asked = [(q.phase, q.header["round"]) for node, q in grid.asked if node == 101]
    assert asked.count(("train", 2)) == 1
    assert ("evaluate", 1) in asked
    assert ("evaluate", 2) not in asked
    last = open_run(tmp_path / "run").evaluations[-1]
    assert {f.client_id for f in last.failures} == {1, 4}


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
    table = SIX | {"clients": {"per_round": 6}, "engine": {"client_timeout": 30.0}}
    began = time.monotonic()
    assert run_over(tmp_path / "run", grid, **table) == 0
    assert time.monotonic() - began < 20
    reasons = [
        {f.client_id: f.reason for f in row.quarantined}
        for row in open_run(tmp_path / "run").rounds
    ]
    absent = "no node answers for it"
    assert reasons[:2] == [{}, {1: "its node is gone", 4: "its node is gone"}]
    assert reasons[2:4] == [{1: absent, 4: absent}] * 2
    assert reasons[4:] == [{}, {}]
    told = [
        (e["round_num"], e["event"], e["node"], e["clients"]) for e in node_events(tmp_path / "run")
    ]
    assert told[3:] == [(3, "gone", "101", [1, 4]), (5, "moved", "555", [1, 4])]
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

    grid.twist[101] = training(double)
    assert run_over(tmp_path / "run", grid, **SIX) == 0
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


def test_a_run_in_which_all_clients_fail_ends_with_our_code(tmp_path):
    grid = MemoryGrid()
    for node in grid.online:
        grid.twist[node] = training(errs(2, "no"))
    assert run_over(tmp_path / "run", grid, **SIX | {"rounds": 9}) == 6
    said = json.loads(end_file(tmp_path / "run").read_text())["message"]
    assert "No usable update in 5 rounds in a row" in said


def test_no_round_waits_for_a_node_that_is_slow_to_say_hello(tmp_path):
    finished_run(tmp_path / "here", **SIX)
    grid = MemoryGrid()

    def join(answer):
        grid.online[555] = {"partition-id": 1, "num-partitions": 3}
        return answer

    grid.twist |= {101: training(join), 555: lambda question, answer: None}  # noqa: ARG005
    began = time.monotonic()
    assert run_over(tmp_path / "run", grid, **SIX) == 0
    assert time.monotonic() - began < 20, "its first answer may take two minutes"
    assert [q.phase for node, q in grid.asked if node == 555] == ["hello"]
    assert results(tmp_path / "run") == results(tmp_path / "here")
