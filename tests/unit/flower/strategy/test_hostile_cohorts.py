"""Bad clients of somebody's own Flower app, by the thousand: the law is that of any other round.

A failure names the seed of its round: `one_round(SEED)` makes it again.
"""

import sys

import numpy as np
import pytest
from flwr.app import MetricRecord, RecordDict

from fedmgda.flower.strategy._model_arrays import ModelArrays
from fedmgda.flower.strategy._received import Received
from fedmgda.flower.strategy._record import new_facts
from fedmgda.flower.strategy._reply_values import Keys, evaluation_of, shared_metrics, sizes_of
from flower_apps import model
from hostile_cohorts import check, draw, survived
from hostile_contents import KINDS, LIES, rounded, rounds

FEW, ALL = 200, 3_000


def one_round(seed):
    case = rounded(draw(seed, KINDS, (), dtypes=(np.float32,), allowed=False))
    check(case, rounds(case), None, frozenset(LIES))


def test_contents_of_any_app():
    assert survived(range(FEW), one_round) == []


@pytest.mark.torture
def test_all_contents_of_any_app():
    assert survived(range(ALL), one_round) == []


NUMBERS = [None, float("nan"), float("inf"), 1e308, -1.0, 0, 10**30, 10**400, -(10**400), [1.0], []]


@pytest.mark.parametrize("key", ["num-examples", "eval_loss", "eval_acc"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number!r:.20}")
def test_numbers_of_an_evaluation(key, number):
    honest = {"num-examples": 7, "eval_loss": 0.5, "eval_acc": 0.25}
    told = {**honest, key: number}
    contents = {
        client: RecordDict({"m": MetricRecord({k: v for k, v in t.items() if v is not None})})
        for client, t in enumerate((honest, told, honest))
    }
    received = Received(contents=contents, failures=())
    sizes = sizes_of(received, Keys(), 3)
    assert np.isfinite(sizes).all()
    assert (sizes[[0, 2]] == 7).all()
    facts = new_facts(sizes, sizes, ModelArrays.of(model(), ()), {})
    assert (facts.sizes["test"][[0, 2]] == 7).all()
    found = evaluation_of(received, Keys(), np.full(3, 7.0))
    assert found.losses[[0, 2]].tolist() == [0.5, 0.5]
    assert not np.isinf(found.losses).any()
    for record in shared_metrics(list(contents.values()), "num-examples"):
        assert all(abs(number) <= sys.float_info.max for number in record["metrics"].values())
