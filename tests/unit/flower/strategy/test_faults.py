import sys

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict

from fedmgda import FederationStalledError, open_run, verify
from fedmgda.flower import FedAvg, FedMGDAPlus, QFedAvg
from flower_apps import AppGrid, client_app, model

FAULTY = 2


def arrays(w):
    return ArrayRecord({"layer.w": Array(np.asarray(w, np.float32))})


def with_metrics(content, **changes):
    metrics = {**next(iter(content.metric_records.values())), **changes}
    kept = {key: value for key, value in metrics.items() if value is not None}
    return RecordDict({"arrays": content["arrays"], "metrics": MetricRecord(kept)})


def with_arrays(content, record):
    return RecordDict({"arrays": record, "metrics": content["metrics"]})


def raises(content):
    raise ZeroDivisionError("as it goes")


def exits(content):
    sys.exit(3)


def is_silent(content):
    raise TimeoutError


FAULTS = {
    "raises": (raises, "ZeroDivisionError: as it goes"),
    "exits": (exits, "SystemExit: 3"),
    "is silent": (is_silent, "no reply"),
    "NaN": (lambda c: with_arrays(c, arrays([np.nan] * 3)), "3 NaN in the update"),
    "Inf": (lambda c: with_arrays(c, arrays([np.inf, 0, 0])), "1 Inf in the update"),
    "another shape": (lambda c: with_arrays(c, arrays([1.0])), "has shape (1,), not (3,)"),
    "too long": (lambda c: with_arrays(c, arrays(np.zeros(5000))), "more than its"),
    "whole numbers": (
        lambda c: with_arrays(c, ArrayRecord({"layer.w": Array(np.zeros(3, np.int64))})),
        "is of int64, not of real numbers",
    ),
    "unreadable": (
        lambda c: with_arrays(
            c, ArrayRecord({"layer.w": Array("float32", (3,), "numpy.ndarray", b"nothing")})
        ),
        "cannot be read",
    ),
    "missing array": (lambda c: with_arrays(c, ArrayRecord()), "the array 'layer.w' is missing"),
    "another array": (
        lambda c: with_arrays(c, ArrayRecord({**c["arrays"], "more": Array(np.zeros(1))})),
        "the array 'more' is not in the model",
    ),
    "nothing": (lambda _: RecordDict(), "the reply has no ArrayRecord"),
    "missing count": (lambda c: with_metrics(c, **{"num-examples": None}), "no 'num-examples'"),
    "negative count": (lambda c: with_metrics(c, **{"num-examples": -5}), "num_examples is -5"),
    "count is a list": (lambda c: with_metrics(c, **{"num-examples": [1]}), "is a list"),
}


def spoiled(fault, *, everyone=False, first=1):
    def spoil(number, round_num, content):
        hit = (everyone or number == FAULTY) and round_num >= first
        return fault(content) if hit else content

    return client_app(loss=True, spoil=spoil)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_recorded_with_client_and_reason_and_nobody_else_is_touched(tmp_path, name):
    fault, reason = FAULTS[name]
    grid = AppGrid([spoiled(fault, first=2)] * 4)
    result = FedAvg(record=tmp_path / "run").start(grid, model(), num_rounds=3)
    assert np.isfinite(result.arrays["layer.w"].numpy()).all()
    run = open_run(tmp_path / "run")
    assert [row.client_ids for row in run.rounds] == [(0, 1, 2, 3), (0, 1, 3), (0, 1, 3)]
    for row in run.rounds[1:]:
        assert [failure.client_id for failure in row.quarantined] == [FAULTY]
        assert reason in row.quarantined[0].reason
    assert verify(tmp_path / "run").verified


def test_a_missing_loss_leaves_that_client_out():
    app = spoiled(lambda content: with_metrics(content, loss=None))
    result = QFedAvg(client_lr=0.5).start(AppGrid([app] * 4), model(), num_rounds=2)
    assert result.train_metrics_clientapp[1]["client-ids"] == [0, 1, 3]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 0.5])
def test_a_number_that_is_none_is_no_claim(tmp_path, number):
    app = spoiled(lambda content: with_metrics(content, **{"client-id": number}), first=2)
    FedAvg(record=tmp_path / "run").start(AppGrid([app] * 4), model(), num_rounds=3)
    assert [row.client_ids for row in open_run(tmp_path / "run").rounds] == [(0, 1, 2, 3)] * 3


def test_a_client_that_claims_another_is_left_out_and_the_other_is_not(tmp_path):
    app = spoiled(lambda content: with_metrics(content, **{"client-id": 0}), first=2)
    strategy = FedMGDAPlus(record=tmp_path / "run")
    strategy.start(AppGrid([app] * 4), model(), num_rounds=3)
    row = open_run(tmp_path / "run").rounds[-1]
    assert row.client_ids == (0, 1, 3)
    assert "says it is client 0, and was 2" in row.quarantined[0].reason


def test_two_that_claim_the_same_client_from_the_start_are_one(tmp_path):
    app = spoiled(lambda content: with_metrics(content, **{"client-id": 0}))
    strategy = FedMGDAPlus(record=tmp_path / "run")
    strategy.start(AppGrid([app] * 4, seed=1), model(), num_rounds=3)
    for row in open_run(tmp_path / "run").rounds:
        assert row.client_ids == (0, 1, 3)
        assert any("which node" in failure.reason for failure in row.quarantined)


def test_a_client_number_beyond_the_others_is_refused():
    app = spoiled(lambda content: with_metrics(content, **{"client-id": 9}))
    result = FedMGDAPlus().start(AppGrid([app] * 4), model(), num_rounds=1)
    assert result.train_metrics_clientapp[1]["client-ids"] == [0, 1, 3]


def test_a_reply_counts_once(tmp_path):
    grid = AppGrid([client_app(loss=True)] * 4)
    grid.again = True
    once = FedAvg().start(AppGrid([client_app(loss=True)] * 4), model(), num_rounds=3)
    twice = FedAvg(record=tmp_path / "run").start(grid, model(), num_rounds=3)
    assert once.arrays["layer.w"].numpy().tolist() == twice.arrays["layer.w"].numpy().tolist()
    reasons = {f.reason for f in open_run(tmp_path / "run").rounds[0].quarantined}
    assert reasons == {"duplicate reply"}


def test_when_all_fail_the_run_ends_and_says_why():
    with pytest.raises(FederationStalledError, match=r"in 5 rounds in a row.*as it goes"):
        FedAvg().start(AppGrid([spoiled(raises, everyone=True)] * 4), model(), num_rounds=50)


def test_nodes_that_never_said_who_they_are_are_not_called_gone(tmp_path):
    app, folder = spoiled(raises, everyone=True), tmp_path / "run"
    with pytest.raises(FederationStalledError, match="as it goes"):
        FedAvg(record=folder).start(AppGrid([app] * 4), model(), num_rounds=1)
    reasons = [failure.reason for failure in open_run(folder).rounds[0].quarantined]
    assert reasons.count("no node has said that it is this client") == 4


def test_a_node_that_is_gone_fails_at_once_and_may_come_back(tmp_path):
    grid = AppGrid([client_app(loss=True)] * 4)
    gone = grid.node(FAULTY)

    def watch(round_num, _):
        grid.gone = {gone} if round_num == 1 else set()

    FedMGDAPlus(record=tmp_path / "run").start(grid, model(), num_rounds=3, evaluate_fn=watch)
    rounds = open_run(tmp_path / "run").rounds
    assert [row.client_ids for row in rounds] == [(0, 1, 2, 3), (0, 1, 3), (0, 1, 2, 3)]
    assert rounds[1].quarantined[0].reason == "no connected node holds this client"


def test_a_client_that_comes_under_another_node_is_the_same_client(tmp_path):
    grid = AppGrid([client_app(loss=True)] * 4)
    old = grid.node(FAULTY)

    def move(round_num, _):
        if round_num == 1:
            grid.nodes[12345] = grid.nodes.pop(old)

    FedMGDAPlus(record=tmp_path / "run").start(grid, model(), num_rounds=3, evaluate_fn=move)
    assert {row.client_ids for row in open_run(tmp_path / "run").rounds} == {(0, 1, 2, 3)}
