"""The best model by validation is kept, and nothing else of a run moves."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from fedmgda._errors import SpecError, StoreError
from fedmgda.experiments import RunFolder, Spec, build_data, execute, open_run, parse, resolve
from fedmgda.experiments._build import build_pool
from fedmgda.experiments._validation import check_validation, validation_score
from fedmgda.values import ClientFacts, Evaluation, Failure
from runs import carry_on, finished_run, results, small_spec, stopped_run

# Steps so large that the validation score rises and falls.
WILD = {
    "rounds": 12,
    "model": {"hidden": [8]},
    "clients": {"per_round": 2, "client_lr": 0.3},
    "server": {"lr": 3.0},
}


def table(select="loss", patience=None, every=2, **more):
    evaluation = {"every": every, "select": select}
    if patience is not None:
        evaluation["patience"] = patience
    return WILD | {"evaluation": evaluation} | more


@pytest.fixture(scope="module", params=["loss", "accuracy"])
def selected(request, tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("run") / request.param, **table(request.param))


def scores_of(run):
    return {row.round_num: row.validation_score for row in run.evaluations}


def test_the_selected_round_is_the_first_of_the_best(selected):
    run = open_run(selected.path)
    scores = scores_of(run)
    assert list(scores) == [0, 2, 4, 6, 8, 10, 12]
    best = (min if run.spec.evaluation.select == "loss" else max)(scores.values())
    assert run.summary.selected_round == next(r for r, score in scores.items() if score == best)
    assert 0 < run.summary.selected_round < 12, "this test needs a round in the middle"
    assert run.summary.validation_score == best
    assert run.summary.stopped_early is False


def test_the_model_is_that_of_a_run_ended_at_the_selected_round(selected, tmp_path):
    run = open_run(selected.path)
    shorter = table() | {"rounds": run.summary.selected_round, "evaluation": {"every": 2}}
    finished_run(tmp_path, **shorter)
    for name in ("model.safetensors", "predictions.npz"):
        assert (tmp_path / name).read_bytes() == (selected.path / name).read_bytes()
    ended = open_run(tmp_path)
    assert ended.summary.honest == run.summary.honest
    assert ended.summary.round_num == run.summary.round_num == run.summary.selected_round
    served = [(client.test_loss, client.test_accuracy) for client in run.clients]
    assert served == [(client.test_loss, client.test_accuracy) for client in ended.clients]


def test_selection_changes_no_round_and_adds_one_key_to_an_evaluation(selected, tmp_path):
    finished_run(tmp_path, **(table() | {"evaluation": {"every": 2}}))
    for name in ("rounds.jsonl", "gram.bin"):
        assert (tmp_path / name).read_bytes() == (selected.path / name).read_bytes()
    lines = [
        [json.loads(line) for line in (path / "evaluations.jsonl").read_text().splitlines()]
        for path in (tmp_path, selected.path)
    ]
    for without, with_score in zip(*lines, strict=True):
        assert with_score.keys() - without.keys() == {"validation_score"}
        different = {key for key in without if without[key] != with_score[key]}
        assert different <= {"previous"}
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert not summary.keys() & {"selected_round", "validation_score", "stopped_early"}


@pytest.mark.parametrize("rule", ["fedmgda+", "afl"])
@pytest.mark.parametrize("stop", [0, 1, 5, 8, 9])
def test_a_run_that_was_stopped_resumes_to_the_same_bytes(tmp_path, rule, stop):
    given = table(patience=2, rule={"name": rule})
    finished_run(tmp_path / "whole", **given)
    stopped_run(tmp_path / "broken", after=stop, **given)
    carry_on(tmp_path / "broken")
    assert results(tmp_path / "broken") == results(tmp_path / "whole")


@pytest.mark.parametrize("path", ["compiled", "torch"])
def test_the_number_of_workers_changes_no_byte(tmp_path, path):
    for workers in (1, 2):
        engine = {"workers": workers, "checkpoint_seconds": 0.0}
        clients = WILD["clients"] | {"path": path}
        finished_run(
            tmp_path / str(workers), **table(patience=2, engine=engine, clients=clients, rounds=6)
        )
    assert results(tmp_path / "1") == results(tmp_path / "2")


def test_patience_ends_the_run_and_the_reader_knows_where(tmp_path):
    finished_run(tmp_path, **table(patience=1))
    run = open_run(tmp_path)
    run.check()
    scores = list(scores_of(run).values())
    assert all(later < earlier for earlier, later in pairwise(scores[:-1]))
    assert scores[-1] >= scores[-2]
    last = run.evaluations[-1].round_num
    assert len(run.rounds) == last < 12
    assert run.summary.stopped_early is True
    assert run.summary.selected_round == last - 2
    assert list(execute(RunFolder.open(tmp_path))) == []


@pytest.mark.parametrize("name", ["rounds.jsonl", "evaluations.jsonl"])
def test_lines_that_are_missing_before_an_early_end_are_missed(tmp_path, name):
    finished_run(tmp_path, **table(patience=1))
    lines = (tmp_path / name).read_bytes().splitlines(keepends=True)
    (tmp_path / name).write_bytes(b"".join(lines[:-1]))
    run = open_run(tmp_path)
    with pytest.raises(StoreError, match="missing"):
        _ = run.rounds


def test_killed_before_the_end_was_marked_it_stays_ended(tmp_path):
    whole = finished_run(tmp_path, **table(patience=1))
    before = results(whole.path)
    (tmp_path / "DONE").unlink()
    carry_on(tmp_path)
    assert results(tmp_path) == before


def test_the_average_of_afl_is_what_is_selected(tmp_path):
    averaging = {"rule": {"name": "afl", "gamma_w": 3.0}, "server": {}}
    finished_run(tmp_path / "selected", **table("accuracy", **averaging))
    rounds = open_run(tmp_path / "selected").summary.selected_round
    assert 0 < rounds < 12
    shorter = averaging | {"rounds": rounds, "evaluation": {"every": 2}}
    finished_run(tmp_path / "short", **(WILD | shorter))
    models = [tmp_path / name / "model.safetensors" for name in ("selected", "short")]
    assert models[0].read_bytes() == models[1].read_bytes()


def evaluation_of(losses, sizes, failures=()):
    n = len(losses)
    return Evaluation(
        client_ids=tuple(range(n)),
        losses=np.array(losses),
        accuracies=np.array(losses) / 10,
        num_examples=np.array(sizes, np.float64),
        failures=failures,
    )


def test_the_score_counts_each_honest_client_that_has_examples_once():
    lost = Failure(client_id=3, reason="it is gone")
    found = evaluation_of([1.0, 2.0, math.nan, math.nan, 90.0], [1, 100, 0, 5, 1], (lost,))
    assert validation_score(found, (4,), "loss") == 1.5
    assert validation_score(found, (4,), "accuracy") == pytest.approx(0.15)


def test_the_score_by_rows_counts_every_example_once():
    found = evaluation_of([1.0, 2.0, math.nan], [1, 3, 0])
    assert validation_score(found, (), "loss", by_rows=True) == 1.75
    assert validation_score(found, (1,), "loss", by_rows=True) == 1.0


def test_with_weights_of_classes_every_validation_row_counts_once(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["shop,a,late"]
    for shop, size in enumerate((300, 12, 12, 12)):
        a = rng.normal(size=size)
        late = a + rng.normal(size=size) > 2.0  # seldom, and in small shops never in validation
        lines += [f"s{shop},{x:.3f},{'yes' if z else 'no'}" for x, z in zip(a, late, strict=True)]
    (tmp_path / "late.csv").write_text("\n".join(lines))
    data = {"path": str(tmp_path / "late.csv"), "client": "shop", "target": "late"}
    clients = {"class_weights": "balanced", "client_lr": 0.1, "per_round": 4}
    spec = resolve(parse(Spec, {"rounds": 2, "data": data, "clients": clients}))
    folder = RunFolder.create(tmp_path / "run", spec)
    for _ in execute(folder):
        pass
    run = open_run(folder.path)
    with build_pool(run.spec, build_data(run.spec)[0]) as pool:
        found = pool.evaluate(pool.initial_params(), range(4), "validation")
    by_rows = np.average(found.losses, weights=found.num_examples)
    assert run.evaluations[0].validation_score == pytest.approx(by_rows, rel=1e-12)
    assert by_rows != pytest.approx(found.losses.mean(), rel=0.05)


@pytest.mark.parametrize("worst", [math.nan, math.inf])
def test_a_client_without_a_finite_score_leaves_none(worst):
    assert math.isnan(validation_score(evaluation_of([1.0, worst], [1, 1]), (), "loss"))


def facts_of(validation, num_classes):
    sizes = {split: np.array([5, 5]) for split in ("train", "test")}
    sizes["validation"] = np.array(validation)
    return ClientFacts(sizes=sizes, fingerprint="", layout=(), num_classes=num_classes)


@pytest.mark.parametrize(
    ("select", "facts", "malicious", "message"),
    [
        ("accuracy", facts_of([1, 1], None), (), "does not go with a regression; use 'loss'"),
        ("loss", facts_of([0, 0], 2), (), "needs validation examples"),
        ("loss", facts_of([3, 0], 2), (0,), "no honest client has one"),
    ],
)
def test_what_cannot_be_selected_by_is_refused(select, facts, malicious, message):
    evaluation = small_spec(evaluation={"select": select}).evaluation
    with pytest.raises(SpecError, match=message):
        check_validation(evaluation, facts, malicious)


def test_patience_needs_a_score():
    with pytest.raises(SpecError, match=r"evaluation.patience = 3 needs evaluation.select"):
        small_spec(evaluation={"patience": 3})
