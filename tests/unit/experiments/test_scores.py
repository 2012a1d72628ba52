"""The metrics of a run, over all test rows and client by client."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from sklearn import metrics as sk

from fedmgda._errors import SpecError
from fedmgda.experiments import Spec, open_run, parse, resolve
from runs import carry_on, finished_run, small_spec, stopped_run
from tables import write_table


def run_on_table(folder, **table):
    data = write_table(folder / "rows.csv", **table)
    spec = {"data": data, "model": {}, "clients": {"per_round": 2}}
    return finished_run(folder / "run", **spec).path


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    return run_on_table(tmp_path_factory.mktemp("classes"))


def test_a_model_that_finds_no_positive_says_so(classes):
    """Finding 4: 94.7 % accuracy hid that none was found."""
    summary = json.loads((classes / "summary.json").read_text())["metrics"]
    rare = next(c for c in summary["classes"] if c["name"] in {"yes", "1"})
    assert summary["positive"] == rare["name"]
    assert rare["found"] == 0
    assert rare["rows"] > 0
    assert summary["pooled"]["recall"] == 0.0
    assert summary["pooled"]["balanced_accuracy"] == 0.5
    assert summary["pooled"]["accuracy"] > 0.85


def test_the_pooled_metrics_are_those_of_scikit_learn(classes):
    run = open_run(classes)
    found, pooled = run.predictions(), run.summary.metrics.pooled
    rare = int(np.argmin(run.target_sums))
    scores = found.probabilities[:, rare]
    assert pooled["auc"] == pytest.approx(sk.roc_auc_score(found.targets == rare, scores))
    assert pooled["accuracy"] == sk.accuracy_score(found.targets, found.predictions)
    assert list(pooled) == [
        "accuracy", "balanced_accuracy", "auc", "f1", "recall", "log_loss", "brier",
    ]  # fmt: skip


def test_every_client_has_a_column_of_each_metric(classes):
    with (classes / "clients.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    run = open_run(classes)
    assert [row["name"] for row in rows] == ["east", "north", "south", "west"]
    for row, client in zip(rows, run.clients, strict=True):
        assert float(row["accuracy"]) == client.metrics["accuracy"] == client.test_accuracy
        assert (row["auc"] == "") == np.isnan(client.metrics["auc"])
    fair = run.summary.metrics.fairness
    accuracies = [client.metrics["accuracy"] for client in run.clients]
    assert fair["average"] == pytest.approx(np.mean(accuracies))
    assert fair["percentile_5"] == pytest.approx(np.percentile(accuracies, 5))
    assert fair["min"] == min(accuracies)


def test_a_regression_has_errors_and_no_column_of_accuracies(tmp_path):
    run = open_run(run_on_table(tmp_path, task="values"))
    assert list(run.summary.metrics.pooled) == ["rmse", "mae", "r2"]
    assert run.summary.metrics.positive is None
    assert run.summary.metrics.classes == ()
    assert list(run.clients[0].metrics) == ["rmse", "mae", "r2"]
    with (tmp_path / "rows.csv").open(newline="") as file:
        values = [float(row["left"]) for row in csv.DictReader(file)]
    found = run.predictions()
    scale = np.std(np.array(values)[np.setdiff1d(np.arange(240), found.rows)])  # about that
    errors = found.predictions.astype(float) - found.targets
    assert run.summary.metrics.pooled["mae"] == pytest.approx(
        scale * np.abs(errors).mean(), rel=0.05
    )


def test_data_of_the_paper_has_no_metrics_unless_asked(tmp_path):
    run = open_run(finished_run(tmp_path / "a").path)
    assert run.spec.evaluation.metrics is None
    assert "metrics" not in json.loads((run.path / "summary.json").read_text())
    asked = {"every": 2, "metrics": ["balanced_accuracy"]}
    run = open_run(finished_run(tmp_path / "b", evaluation=asked).path)
    assert run.summary.metrics.over_clients == "balanced_accuracy"


def test_metrics_need_no_predictions_on_disk(tmp_path):
    asked = {"evaluation": {"metrics": "auto"}, "records": {"predictions": False}}
    run = open_run(finished_run(tmp_path, **asked).path)
    assert run.predictions() is None
    assert run.summary.metrics.pooled["accuracy"] > 0


def test_a_stopped_run_comes_to_the_same_metrics(classes, tmp_path):
    data = write_table(tmp_path / "rows.csv")
    stopped_run(tmp_path / "run", data=data, model={}, clients={"per_round": 2})
    carry_on(tmp_path / "run")
    for name in ("summary.json", "clients.csv", "predictions.npz"):
        assert (tmp_path / "run" / name).read_bytes() == (classes / name).read_bytes()


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        (["acuracy"], "evaluation.metrics has no 'acuracy'; did you mean 'accuracy'"),
        (["zz"], "the names are accuracy, balanced_accuracy"),
        (["auc", "auc"], "evaluation.metrics names a metric twice, got auc, auc."),
        (3, "evaluation.metrics must be 'auto' or a list, each a text, got 3"),
    ],
)
def test_what_is_no_metric_is_refused(metrics, sentence):
    with pytest.raises(SpecError, match=sentence):
        resolve(parse(Spec, {"evaluation": {"metrics": metrics}}))


def test_a_metric_of_the_other_task_is_refused(tmp_path):
    with pytest.raises(SpecError, match="has 'rmse', which is not for a classification; use accu"):
        finished_run(tmp_path, evaluation={"metrics": ["rmse"]})
    assert not (tmp_path / "rounds.jsonl").exists()  # before the first round, not after the last
    finished_run(tmp_path, evaluation={"metrics": ["auc"]})  # so that the folder is still free


def test_a_spec_that_names_no_metric_keeps_its_tag():
    assert small_spec() == small_spec(evaluation={"every": 2})


def test_a_misspelt_metric_is_answered_in_one_sentence():
    with pytest.raises(SpecError, match=r"has no 'acuracy'; did you mean 'accuracy'\?$"):
        small_spec(evaluation={"metrics": ["acuracy"]})
