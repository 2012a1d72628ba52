"""The verdict on a run: what its records say, in numbers and in words."""

import json
from dataclasses import replace

import numpy as np
import pytest
from torch import nn

import fedmgda
from conflicts import table_of
from fedmgda._json import decode, encode, read_json
from fedmgda.experiments import RowPredictions, RunFolder, execute, open_run
from fedmgda.experiments._verdict import Verdict
from fedmgda.values import Failure
from runs import FORMAT_1, copy_of, finished_run, small_spec
from verdicts import ROWS, evaluation, round_row, values_of, verdict_of


def test_a_run_below_both_the_initial_model_and_the_constant_learned():
    verdict = verdict_of([0.3, 0.4, 0.5, 0.4])
    assert (verdict.outcome, verdict.good) == ("learned", True)
    assert verdict.headline == (
        "It learned: test loss 0.4, averaged over 4 clients; 1.4 before training and 1 for always "
        "predicting the mean."
    )
    assert (verdict.loss, verdict.initial_loss, verdict.constant_loss) == pytest.approx(
        (0.4, 1.4, 1)
    )
    (sentence,) = verdict.sentences
    assert sentence == (
        "No client with 10 test rows or more is surely worse off than with a constant or before "
        "training."
    )


@pytest.mark.parametrize("losses", [(10.1,) * 4, (np.nan, 1, 1, 1), (np.inf,) * 4])
def test_a_run_whose_loss_rose_diverged_and_names_the_learning_rate(losses):
    spec = small_spec(clients={"per_round": 2, "client_lr": 0.1})
    exploding = [round_row(1, local_losses=np.array([5.0, np.inf]))]
    verdict = verdict_of(losses, rounds=exploding, spec=spec)
    assert (verdict.outcome, verdict.good) == ("diverged", False)
    assert verdict.headline.startswith("It diverged: test loss ")
    assert "Try -c clients.client_lr=0.01 (now 0.1)." in verdict.headline
    assert verdict.loss == (None if not np.isfinite(losses).all() else pytest.approx(10.1))
    calm = verdict_of(losses, spec=spec)  # clients train well, so the server steps too far
    assert calm.hints[:2] == ("server.lr=0.1", "clients.client_lr=0.01")


def test_a_run_that_diverged_under_attack_names_the_attack():
    attack = {"name": "scale-update", "clients": [1]}
    spec = small_spec(rule={"name": "fedavg"}, attack=attack)
    verdict = verdict_of([10.1] * 4, spec=spec)
    assert verdict.outcome == "diverged"
    assert verdict.headline.startswith("It diverged under the attack 'scale-update' of south: ")
    assert "averaged over 3 honest clients" in verdict.headline
    assert "Try -c rule.name=fedavg-n (now fedavg)." in verdict.headline


def test_a_run_that_diverged_from_the_model_it_kept_diverged_all_the_same():
    rows = [evaluation(0, [1.4] * 4), evaluation(10, [10.1] * 4)]
    verdict = verdict_of(
        [1.4] * 4, evaluations=rows, judged=rows[0], spec=small_spec(rule={"name": "fedavg"})
    )
    assert verdict.outcome == "diverged"
    assert verdict.headline.startswith("It diverged: test loss 10.1")
    assert verdict.hints[0].startswith("clients.client_lr")
    assert "The model that is kept is the one of round 0" in " ".join(verdict.sentences)
    better = [evaluation(0, [1.4] * 4), evaluation(5, [0.3] * 4), evaluation(10, [10.1] * 4)]
    kept = verdict_of([0.3] * 4, evaluations=better, judged=better[1])
    assert kept.outcome == "learned"


def test_a_run_no_better_than_a_constant_did_not_learn():
    verdict = verdict_of([1.0, 1.01, 0.99, 1.0])
    assert (verdict.outcome, verdict.good) == ("not learned", False)
    assert "1 for always predicting the mean" in verdict.headline
    assert verdict.hints[0] == "rounds=18"  # it still falls
    without = verdict_of([1.0, 1.01, 0.99, 1.0], target_sums=None)
    assert without.outcome == "learned", "against round 0 only"
    assert without.constant_loss is None


def test_a_classifier_may_answer_better_with_a_larger_loss():
    rows = [evaluation(0, [0.7] * 4, [0.5] * 4), evaluation(10, [1.5] * 4, [0.8] * 4)]
    targets = np.tile([0, 1], 2 * ROWS)
    found = replace(values_of([1.5] * 4), targets=targets, predictions=targets)
    verdict = verdict_of(
        [1.5] * 4, evaluations=rows, judged=rows[-1], predictions=found,
        target_sums=np.array([50.0, 50.0]),
    )  # fmt: skip
    assert verdict.outcome == "learned"
    assert any(text.startswith("More answers are right") for text in verdict.sentences)


def test_who_is_worse_off_is_named_beyond_what_few_rows_can_say():
    verdict = verdict_of([0.3, 0.4, 1.9, 0.4])
    assert verdict.worse_than_constant == (2,)
    assert verdict.worse_than_initial == (2,)
    text = " ".join(verdict.sentences)
    assert "Worse off than with a constant: 1 of 4 clients, east; about 0.1 would be" in text
    assert "Worse off than before training: 1 of 4 clients, east." in text
    few = evaluation(10, [0.3, 0.4, 1.9, 0.4])
    few = replace(few, num_examples=np.array([20.0, 20.0, 1.0, 20.0]))
    found = values_of([0.3, 0.4, 1.9, 0.4])
    kept = (found.clients != 2) | (found.rows == 2 * ROWS)
    found = RowPredictions(
        **{
            k: getattr(found, k)[kept]
            for k in ("rows", "clients", "targets", "predictions", "losses")
        }
    )
    unsure = verdict_of([0.3, 0.4, 1.9, 0.4], judged=few, predictions=found)
    assert (unsure.worse_than_constant, unsure.few_test_examples) == ((), 1)
    assert "1 of 4 clients have fewer than 10 test rows" in " ".join(unsure.sentences)


def test_a_step_for_everyone_that_overshoots_is_explained():
    rounds = [round_row(number, improved=60.0) for number in range(1, 11)]
    text = " ".join(verdict_of([0.3, 0.4, 0.5, 0.4], rounds=rounds).sentences)
    assert "No round went against a participant to first order; yet after a round only 60 %" in text
    rounds = [replace(row, sacrificed=(1,)) for row in rounds[:3]] + rounds[3:]
    text = " ".join(verdict_of([0.3, 0.4, 0.5, 0.4], rounds=rounds).sentences)
    assert "3 of 10 rounds went against a participant, to first order; most often south." in text


def test_what_went_wrong_on_the_way_is_said():
    rounds = [round_row(number) for number in range(1, 9)]
    bad = (Failure(client_id=3, reason="2 NaN in the update"),)
    rounds += [round_row(9, quarantined=bad), round_row(10, failed="nobody came")]
    losses = [0.3, 0.4, 0.5, 0.4]
    rows = [evaluation(0, [1.4] * 4), evaluation(5, [0.1] * 4), evaluation(10, losses)]
    text = " ".join(verdict_of(losses, rounds=rounds, evaluations=rows, num_buffers=12).sentences)
    for part in (
        "1 of 10 rounds failed, and the model did not move in them: nobody came.",
        "1 replies did not count, most often of west: 2 NaN in the update.",
        "running statistics (batch norm, 12 numbers)",
        "The loss was lowest after round 5, 0.1, and is 0.4 now",
    ):
        assert part in text


def test_nobody_to_test_is_no_failure():
    empty = replace(evaluation(10, [1.0] * 4), num_examples=np.zeros(4))
    verdict = verdict_of([1.0] * 4, judged=empty)
    assert (verdict.outcome, verdict.good) == ("not tested", True)


@pytest.fixture(scope="module")
def stood_still(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verdict")
    table = table_of(folder / "visits.csv", clients=90, agreement=1.0)
    data = {"path": str(table), "client": "branch", "target": "value"}
    clients = {"participation": 1.0}
    spec = small_spec(rounds=8, data=data, model={}, clients=clients)
    for _ in execute(RunFolder.create(folder / "run", spec)):
        pass
    return folder / "run"


def test_a_stall_is_explained_with_names_and_a_cure_and_the_cure_trains(stood_still, tmp_path):
    run = open_run(stood_still)
    verdict = run.summary.verdict
    assert verdict.stalls.rounds >= 4
    assert verdict.stalls.participants == 90
    text = " ".join((verdict.headline, *verdict.sentences))
    assert (
        f"o common direction among 90 participants in {verdict.stalls.rounds} of 8 rounds" in text
    )
    names = {client.client_id: client.name for client in run.clients}
    assert names[(verdict.stalls.blocking or verdict.stalls.conflict)[0]] in text
    key, _, value = verdict.hints[0].partition("=")
    assert key == "clients.per_round"
    fewer = replace(run.spec.clients, participation=None, per_round=int(value))
    spec = replace(run.spec, clients=fewer, rounds=40)
    for _ in execute(RunFolder.create(tmp_path / "run", spec)):
        pass
    cured = open_run(tmp_path / "run").summary.verdict
    assert cured.outcome == "learned"
    assert cured.loss < verdict.loss
    assert cured.stalls is None or cured.stalls.rounds <= 8


def test_the_verdict_is_written_and_read_and_made_again_from_the_records(stood_still, tmp_path):
    run = open_run(stood_still)
    assert json.loads((stood_still / "summary.json").read_text())["verdict"]["headline"]
    written = run.summary.verdict
    content = json.dumps(encode(written)).encode()
    assert encode(decode(Verdict, read_json(content))) == encode(written)
    bare = copy_of(stood_still, tmp_path / "bare")
    table = json.loads((bare / "summary.json").read_text())
    del table["verdict"]
    (bare / "summary.json").write_text(json.dumps(table))
    done = json.loads((bare / "DONE").read_text())
    del done["files"]["summary.json"]
    (bare / "DONE").write_text(json.dumps(done))
    assert encode(open_run(bare).verdict) == encode(written)


def test_a_folder_of_an_older_version_is_judged_too():
    run = open_run(FORMAT_1 / "finished")
    assert run.summary.verdict is None
    assert run.verdict.outcome in {"learned", "may have learned", "not learned"}
    assert run.verdict.constant_loss is None


def test_a_digits_run_learns(tmp_path):
    run = open_run(finished_run(tmp_path / "run", rounds=20, model={"hidden": [16]}).path)
    assert run.verdict.outcome == "learned"


def test_batch_norm_is_said_to_be_outside_the_promise(tmp_path):
    rng = np.random.default_rng(0)
    arrays = [(rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 2, 20))] * 3
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    fedmgda.train(model, arrays, rounds=2, out=tmp_path / "run")
    run = open_run(tmp_path / "run")
    said = "running statistics (batch norm, 8 numbers)"
    assert said in " ".join(run.summary.verdict.sentences)


def test_batch_norm_is_mentioned_before_the_first_round(tmp_path):
    spec = small_spec(rounds=1, model={"name": "batch_norm:model"})
    first = next(iter(execute(RunFolder.create(tmp_path / "run", spec))))
    assert any("running statistics (batch norm, 8 numbers)" in note for note in first.notes)
