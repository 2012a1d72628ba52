"""Nodes that fail, lie, leave and come back: each recorded, and nobody else is worse off."""

from dataclasses import replace

import numpy as np
import pytest
from flwr.app import ArrayRecord, RecordDict
from flwr.app.error import Error

from fedmgda.experiments import open_run
from fedmgda.flower.wire._end import read_end
from flower_grid import MemoryGrid, from_round_2, run_over, with_arrays
from runs import finished_run, results

SIX = {"data": {"num_clients": 6}, "clients": {"per_round": 4}}


def spoilt(name, value):
    def change(answer):
        array = answer.arrays[name].copy()
        array[0] = value
        return with_arrays(answer, **{name: array})

    return from_round_2(change)


def silence(answer):
    return None


def empty(answer):
    return RecordDict({"arrays": ArrayRecord()})


def errs(code, reason):
    return lambda answer: Error(code, reason)  # noqa: ARG005


FAULTS = {
    "raises": (
        from_round_2(errs(2, "ValueError: no  room\nleft")),
        "its ClientApp raised an error (ValueError: no room left)",
    ),
    "NaN": (spoilt("updates", np.nan), "160 NaN in the update"),
    "infinite loss": (spoilt("losses", np.inf), "loss is inf"),
    "negative count": (spoilt("num_examples", -3.0), "num_examples is -3"),
    "wrong shape": (
        from_round_2(lambda a: with_arrays(a, updates=a.arrays["updates"][:, :1])),
        "updates is float32 of shape (2, 1), not float32 of shape (2, 160)",
    ),
    "wrong type": (
        from_round_2(lambda a: with_arrays(a, updates=a.arrays["updates"].astype(np.float64))),
        "updates is float64 of shape (2, 160), not float32 of shape (2, 160)",
    ),
    "missing key": (
        from_round_2(lambda a: with_arrays(a, updates=None)), "its reply has no 'updates'",
    ),
    "empty reply": (
        from_round_2(empty),
        "its reply cannot be read: there is no ConfigRecord 'fedmgda'",
    ),
    "another's client": (
        from_round_2(lambda a: with_arrays(a, client_ids=np.array([1, 0]))),
        "its node answered for client 0, who was not asked of it",
    ),
    "one client twice": (
        from_round_2(lambda a: with_arrays(a, client_ids=np.array([1, 1]))), "duplicate reply",
    ),
    "another round": (
        from_round_2(lambda a: replace(a, header={**a.header, "round": 1})),
        "its reply is to another round",
    ),
    "another run": (
        from_round_2(lambda a: replace(a, header={**a.header, "run": "yours"})),
        "its reply is to another run",
    ),
    "killed": (from_round_2(errs(8, "")), "its ClientApp was ended by the system"),
    "silent": (from_round_2(silence), "no reply within 0.3 s"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_recorded_with_client_and_reason_and_costs_nobody_else(tmp_path, fault):
    grid = MemoryGrid()
    grid.twist[101], reason = FAULTS[fault]
    table = SIX | {"clients": {"per_round": 6}, "engine": {"client_timeout": 0.3}, "rounds": 3}
    assert run_over(tmp_path / "run", grid, **table) == 0
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
    grid.twist[101] = from_round_2(silence)
    table = SIX | {
        "clients": {"per_round": 6}, "engine": {"client_timeout": 1.0}, "rounds": 2,
        "evaluation": {"every": 1},
    }  # fmt: skip
    assert run_over(tmp_path / "run", grid, **table) == 0
    asked = [(q.phase, q.header["round"]) for node, q in grid.asked if node == 101]
    assert asked.count(("train", 2)) == 1
    assert ("evaluate", 1) in asked
    assert ("evaluate", 2) not in asked
    last = open_run(tmp_path / "run").evaluations[-1]
    assert {f.client_id for f in last.failures} == {1, 4}


def test_a_run_in_which_all_clients_fail_ends_with_our_code(tmp_path):
    grid = MemoryGrid()
    for node in grid.online:
        grid.twist[node] = from_round_2(errs(2, "no"))
    assert run_over(tmp_path / "run", grid, **SIX | {"rounds": 9}) == 6
    said = read_end(tmp_path / "run").sentence
    assert "No usable update in 5 rounds in a row" in said
