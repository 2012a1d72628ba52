"""Whether a run learned is said with as much certainty as its test rows give."""

from dataclasses import replace

import numpy as np
import pytest

from fedmgda.experiments import RowPredictions, Spec, parse
from fedmgda.experiments._client_losses import client_losses
from fedmgda.experiments._learned import is_beyond_chance
from runs import small_spec
from verdicts import evaluation, values_of, verdict_of


def predictions(targets, answers, losses, clients):
    return RowPredictions(
        rows=np.arange(len(clients)), clients=clients, targets=targets, predictions=answers,
        losses=losses,
    )  # fmt: skip


def test_a_lead_within_chance_is_no_learning_and_no_failure_to_learn():
    verdict = verdict_of([0.3, 1.2, 0.6, 0.9])
    assert (verdict.outcome, verdict.good) == ("may have learned", False)
    assert verdict.headline == (
        "It may have learned: test loss 0.75, averaged over 4 clients; 1.4 before training and 1 "
        "for always predicting the mean. With 80 test rows of 4 clients the difference is within "
        "chance."
    )
    assert verdict_of([0.7, 0.8, 0.75, 0.75]).outcome == "learned"


def test_without_a_constant_the_initial_model_is_what_chance_is_measured_against():
    first = (1.0, 1.1, 1.0, 1.0)
    for changes in ({"target_sums": None}, {"target_sums": None, "predictions": None}):
        unsure = verdict_of([0.3, 1.2, 1.0, 1.0], first=first, **changes)
        assert unsure.outcome == "may have learned"
        assert verdict_of([0.8, 0.9, 0.8, 0.8], first=first, **changes).outcome == "learned"


def test_a_good_model_to_start_from_is_what_must_be_beaten():
    """Below a constant nearly everything is, where training began with a good model."""
    assert verdict_of([0.2, 0.1, 0.3, 0.1], first=(0.2,) * 4).outcome == "may have learned"
    assert verdict_of([0.1, 0.1, 0.12, 0.1], first=(0.2,) * 4).outcome == "learned"


def test_the_rows_of_one_or_two_clients_tell_what_is_chance():
    for losses in ([0.9], [0.9, 0.7]):
        sure = verdict_of(losses, first=(1.4,) * len(losses))
        assert sure.outcome == "learned"
        found = values_of(losses)
        scatter = np.tile([-0.85, 0.85], len(found.losses) // 2)
        unsure = replace(found, losses=found.losses.astype(float) + scatter)
        verdict = verdict_of(losses, first=(1.4,) * len(losses), predictions=unsure)
        assert verdict.outcome == "may have learned"
        assert f"With {20 * len(losses)} test rows the difference" in verdict.headline
    one = verdict_of([0.2], first=(1.4,), predictions=None)
    assert one.outcome == "may have learned", "one number has no error"


def test_a_constant_answer_did_not_learn():
    """Over rows the largest client hides that a constant does as well at the others."""
    clients = np.r_[np.zeros(200, int), np.repeat(np.arange(1, 10), 10)]
    targets = np.r_[np.repeat([0, 1], 100), np.zeros(90, int)]
    right = np.array([np.mean(targets[clients == client] == 0) for client in range(10)])
    found = predictions(targets, np.zeros(290, int), np.full(290, 1.5), clients)
    rows = [evaluation(0, [1.4] * 10, [0.3] * 10), evaluation(10, [1.5] * 10, right)]
    constant = verdict_of(
        [1.5] * 10, evaluations=rows, judged=rows[-1], predictions=found,
        target_sums=np.array([50.0, 50.0]), names=None,
    )  # fmt: skip
    assert constant.outcome != "learned"


def test_better_answers_within_chance_are_no_learning():
    clients, targets = np.repeat(np.arange(4), 10), np.tile([0, 1], 20)
    answers = targets.copy()
    answers[clients < 3] = 0  # at three of four clients it is a constant
    right = [0.5, 0.5, 0.5, 1.0]
    found = predictions(targets, answers, np.full(40, 1.5), clients)
    rows = [evaluation(0, [1.4] * 4, [0.5] * 4), evaluation(10, [1.5] * 4, right)]
    same = {"evaluations": rows, "judged": rows[-1], "target_sums": np.array([50.0, 50.0])}
    assert verdict_of([1.5] * 4, predictions=found, **same).outcome == "not learned"


def test_a_client_is_worse_off_by_students_t_of_its_rows():
    """Two standard errors of ten rows are exceeded by chance in 3.9 % of cases, not 2.3."""
    scatter = np.tile([-1.0, 1.0], 5)
    error = scatter.std(ddof=1) / np.sqrt(10)
    for factor, worse in ((2.1, []), (2.3, [0])):
        found = predictions(
            np.ones(10, np.float32), np.zeros(10), 1.0 + factor * error + scatter, np.zeros(10, int)
        )
        losses = client_losses(found, [0], np.array([10.0, 0.0, 10.0]))
        assert losses.worse_than_constant() == worse
        assert losses.worse_than(evaluation(0, [1.0])) == worse


def test_weights_that_nobody_knows_are_not_left_out_in_silence():
    """The losses of an evaluation are weighted, those of the kept rows are not."""
    table = {"clients": {"class_weights": "balanced", "per_round": 2}}
    spec = replace(small_spec(), clients=parse(Spec, table).clients)
    verdict = verdict_of([0.3, 0.4, 0.3, 0.4], spec=spec, target_sums=None)
    assert (verdict.outcome, verdict.worse_than_initial) == ("learned", ())
    assert not any("worse off" in sentence for sentence in verdict.sentences)


def test_chance_alone_is_called_learning_in_one_case_of_forty():
    rng = np.random.default_rng(0)
    found = [is_beyond_chance(gains) for gains in rng.normal(size=(4000, 8))]
    assert np.mean(found) == pytest.approx(0.025, abs=0.007)
