"""The official test set is evaluated on, and touches nothing else."""

import json

import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.data import DATASETS, Examples, Pixels
from fedmgda.experiments import Spec, _official, open_run, parse, resolve
from fedmgda.experiments._official import refuse_remote_test
from runs import carry_on, finished_run, results, small_spec, stopped_run

TABLE = {
    "rounds": 3,
    "data": {"name": "fashion-mnist", "num_clients": 4, "shards_per_client": 2},
    "model": {"name": "logistic"},
}


def images(size, seed):
    rng = np.random.default_rng(seed)
    return Examples(
        name="fashion-mnist",
        features=rng.integers(0, 256, (size, 1, 28, 28), dtype=np.uint8),
        targets=rng.integers(0, 10, size),
        num_classes=10,
        pixels=Pixels(mean=0.1307, std=0.3081),
    )


@pytest.fixture(autouse=True)
def small_images(monkeypatch):
    from fedmgda.data.datasets import _mnist  # noqa: PLC0415

    parts = {"train": images(80, 1), "test": images(50, 2)}
    monkeypatch.setattr(_mnist, "load_fashion_mnist", lambda part="train": parts[part])
    return parts


def table(path="auto", **evaluation):
    clients = {"per_round": 2, "path": path}
    return TABLE | {"clients": clients, "evaluation": {"every": 2, **evaluation}}


@pytest.mark.parametrize("path", ["compiled", "torch"])
def test_it_is_what_the_model_does_on_those_images(tmp_path, path, small_images):
    finished_run(tmp_path, **table(path, global_test=True))
    run = open_run(tmp_path)
    arrays, official = run.model_arrays(), small_images["test"]
    weight, bias = (next(a for a in arrays.values() if a.ndim == n) for n in (2, 1))
    x = (official.features.reshape(50, -1) / 255 - 0.1307) / 0.3081
    scores = x @ weight.T + bias
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    own = logs[np.arange(50), official.targets]
    assert run.summary.global_accuracy == np.mean(scores.argmax(axis=1) == official.targets)
    assert run.summary.global_loss == pytest.approx(-own.mean(), rel=1e-5)
    assert run.evaluations[-1].global_loss == run.summary.global_loss
    assert [row.round_num for row in run.evaluations if row.global_loss is not None] == [0, 2, 3]


def test_nothing_else_of_a_run_changes(tmp_path):
    finished_run(tmp_path / "with", **table(global_test=True))
    finished_run(tmp_path / "without", **table())
    with_it, without = (results(tmp_path / name) for name in ("with", "without"))
    same = with_it.keys() - {"DONE", "evaluations.jsonl", "summary.json"}
    assert {name: with_it[name] for name in same} == {name: without[name] for name in same}
    added = json.loads(with_it["summary.json"]).keys() - json.loads(without["summary.json"]).keys()
    assert added == {"global_accuracy", "global_loss"}


def test_it_resumes_and_selects_alike_for_any_number_of_workers(tmp_path):
    given = table(global_test=True, select="loss", patience=1)
    finished_run(tmp_path / "whole", **given)
    two = given | {"engine": {"workers": 2, "checkpoint_seconds": 0.0}}
    stopped_run(tmp_path / "broken", after=1, **two)
    carry_on(tmp_path / "broken")
    assert results(tmp_path / "broken") == results(tmp_path / "whole")


def test_false_is_as_good_as_absent():
    off = resolve(parse(Spec, {"evaluation": {"global_test": False}}))
    assert off == resolve(Spec())


def test_data_without_an_official_test_set_is_refused():
    with pytest.raises(SpecError, match=r"'fashion-mnist' .* have and 'digits' has not; leave it"):
        small_spec(evaluation={"global_test": True})


def test_a_server_without_data_cannot_test_on_it():
    with pytest.raises(SpecError, match="needs clients whose data is read here"):
        refuse_remote_test(small_spec(**table(global_test=True)))


def test_the_image_data_have_one():
    having = {name for name, dataset in DATASETS.items() if dataset.official_test}
    assert having == {"fashion-mnist", "mnist", "cifar10"}
    assert _official.check_official(small_spec(**table(global_test=True))) is None
