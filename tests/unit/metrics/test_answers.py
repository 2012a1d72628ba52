"""Metrics agree with scikit-learn, with values one can count by hand, and never warn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics as sk

from fedmgda.metrics import METRICS, Answers, default_metrics, measure, rarer_class


def answers(targets, odds, positive=1):
    """Return what a classifier with these probabilities says."""
    targets, odds = np.asarray(targets), np.asarray(odds, float)
    own = odds[np.arange(len(targets)), targets] if len(targets) else np.empty(0)
    return Answers(
        targets=targets,
        predictions=odds.argmax(axis=1) if len(targets) else targets,
        losses=-np.log(own),
        probabilities=odds,
        num_classes=odds.shape[1],
        positive=positive,
    )


def values(targets, predictions, scale=1.0):
    targets, predictions = np.asarray(targets, float), np.asarray(predictions, float)
    return Answers(
        targets=targets,
        predictions=predictions,
        losses=(targets - predictions) ** 2,
        scale=scale,
    )


def random_answers(num_classes, rows=60, seed=0, positive=1):
    rng = np.random.default_rng(seed)
    # Probabilities on a coarse grid, so that there are ties.
    odds = rng.integers(1, 6, (rows, num_classes)).astype(float)
    odds /= odds.sum(axis=1, keepdims=True)
    return answers(rng.integers(0, num_classes, rows), odds, positive)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_agree_with_scikit_learn(seed, positive):
    said = random_answers(2, seed=seed, positive=positive)
    truth, given_, odds = said.targets, said.predictions, said.probabilities
    expected = {
        "accuracy": sk.accuracy_score(truth, given_),
        "balanced_accuracy": sk.balanced_accuracy_score(truth, given_),
        "auc": sk.roc_auc_score(truth == positive, odds[:, positive]),
        "f1": sk.f1_score(truth, given_, pos_label=positive),
        "recall": sk.recall_score(truth, given_, pos_label=positive),
        "log_loss": sk.log_loss(truth, odds),
        "brier": sk.brier_score_loss(truth, odds[:, 1]),
    }
    assert set(expected) == set(default_metrics(2))
    assert {name: measure(name, said) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("num_classes", [3, 5])
def test_several_classes_agree_with_scikit_learn(num_classes):
    said = random_answers(num_classes)
    truth, given_, odds = said.targets, said.predictions, said.probabilities
    expected = {
        "accuracy": sk.accuracy_score(truth, given_),
        "balanced_accuracy": sk.balanced_accuracy_score(truth, given_),
        "auc": sk.roc_auc_score(truth, odds, multi_class="ovr", average="macro"),
        "f1": sk.f1_score(truth, given_, average="macro"),
        "log_loss": sk.log_loss(truth, odds),
        "brier": np.mean(
            [((o - np.eye(num_classes)[t]) ** 2).sum() for t, o in zip(truth, odds, strict=True)]
        ),
    }
    assert set(expected) == set(default_metrics(num_classes))
    assert {name: measure(name, said) for name in expected} == pytest.approx(expected)
    assert measure("recall", said) == measure("balanced_accuracy", said)


@pytest.mark.parametrize("scale", [1.0, 250.0])
def test_values_agree_with_scikit_learn_in_units(scale):
    rng = np.random.default_rng(1)
    truth, given_ = rng.normal(size=40), rng.normal(size=40)
    said = values(truth, given_, scale)
    expected = {
        "rmse": sk.root_mean_squared_error(scale * truth, scale * given_),
        "mae": sk.mean_absolute_error(scale * truth, scale * given_),
        "r2": sk.r2_score(truth, given_),
    }
    assert set(expected) == set(default_metrics(None))
    assert {name: measure(name, said) for name in expected} == pytest.approx(expected)


def test_a_model_that_finds_no_positive_is_seen_although_its_accuracy_is_high():
    said = answers([1] + 19 * [0], 20 * [[0.9, 0.1]])
    assert measure("accuracy", said) == 0.95
    assert measure("recall", said) == measure("f1", said) == 0.0
    assert measure("balanced_accuracy", said) == measure("auc", said) == 0.5


def test_by_hand():
    said = answers([0, 0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9]])
    assert measure("auc", said) == 0.75  # of four pairs, 0.6 against 0.3 is the wrong way round
    assert measure("brier", said) == pytest.approx((0.04 + 0.36 + 0.49 + 0.01) / 4)
    assert measure("f1", said) == 0.5
    away = values([1.0, 3.0], [2.0, 5.0], scale=10.0)
    assert measure("rmse", away) == pytest.approx(10 * math.sqrt(2.5))
    assert measure("mae", away) == 15.0
    assert measure("r2", away) == pytest.approx(1 - 5 / 2)


def test_what_is_not_defined_is_nan_and_no_warning():
    one_class = answers([0, 0, 0], 3 * [[0.9, 0.1]])
    assert math.isnan(measure("auc", one_class))
    assert math.isnan(measure("recall", one_class))
    assert math.isnan(measure("f1", one_class))
    assert measure("accuracy", one_class) == measure("balanced_accuracy", one_class) == 1.0
    nobody = answers(np.empty(0, int), np.empty((0, 2)))
    assert all(math.isnan(measure(name, nobody)) for name in default_metrics(2))
    assert all(math.isnan(measure(name, values([], []))) for name in default_metrics(None))
    assert math.isnan(measure("r2", values([1.0], [2.0])))
    assert math.isnan(measure("r2", values([1.0, 1.0], [2.0, 3.0])))


def test_a_diverged_model_has_no_auc_and_is_no_error():
    said = answers([0, 1], [[np.nan, np.nan], [0.5, 0.5]])
    assert math.isnan(measure("auc", said))
    assert math.isnan(measure("brier", said))


def test_without_probabilities_what_needs_them_is_nan_and_no_default():
    said = random_answers(3)
    bare = Answers(
        targets=said.targets, predictions=said.predictions, losses=said.losses, num_classes=3
    )
    assert math.isnan(measure("auc", bare))
    assert math.isnan(measure("brier", bare))
    assert set(default_metrics(3)) - set(default_metrics(3, probabilities=False)) == {
        "auc",
        "brier",
    }


@pytest.mark.parametrize("name", [name for name in METRICS if METRICS[name].task[0] == "c"])
@given(data=st.data())
def test_many_samples_at_once_are_those_samples_one_by_one(name, data):
    num_classes, rows = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 12))
    said = random_answers(num_classes, rows, seed=data.draw(st.integers(0, 99)))
    draws = np.random.default_rng(0).integers(0, rows, (5, 7))
    together = METRICS[name].of(said.take(draws))
    np.testing.assert_allclose(together, [measure(name, said.take(draw)) for draw in draws])


@given(seed=st.integers(0, 99), num_classes=st.integers(2, 4))
def test_the_order_of_the_rows_changes_no_metric(seed, num_classes):
    said = random_answers(num_classes, 20, seed)
    other = said.take(np.random.default_rng(seed).permutation(20))
    for name in default_metrics(num_classes):
        assert measure(name, other) == pytest.approx(measure(name, said))


def test_swapping_all_rows_is_the_other_model_and_none_this_one():
    ours, theirs = random_answers(3), random_answers(3, seed=1)
    theirs = answers(ours.targets, theirs.probabilities)
    both = ours.swapped(theirs, np.array([[False] * 60, [True] * 60]))
    for name in default_metrics(3):
        found = METRICS[name].of(both)
        np.testing.assert_allclose(found, [measure(name, ours), measure(name, theirs)])


def test_the_rarer_class_is_the_positive_one():
    assert rarer_class(np.array([5, 5])) == 1
    assert rarer_class(np.array([5, 6])) == 0
