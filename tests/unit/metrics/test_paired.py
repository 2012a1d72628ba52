"""How sure a metric is, and whether a difference is more than chance makes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.metrics import (
    LEVEL,
    Answers,
    default_metrics,
    interval,
    mean_of_pairs,
    measure,
    paired,
    wilson,
)


def pair(num_classes, rows, seed):
    """Return what two models say of the same rows."""
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, num_classes or 2, rows)
    if num_classes is None:
        truth = rng.normal(size=rows)
        said = [truth + rng.normal(size=rows) for _ in range(2)]
        return [
            Answers(targets=truth, predictions=value, losses=(value - truth) ** 2, scale=3.0)
            for value in said
        ]
    odds = rng.dirichlet(np.ones(num_classes), (2, rows))
    return [
        Answers(
            targets=targets,
            predictions=of_one.argmax(axis=1),
            losses=-np.log(of_one[np.arange(rows), targets]),
            probabilities=of_one,
            num_classes=num_classes,
        )
        for of_one in odds
    ]


def generator(seed=0):
    return np.random.default_rng(seed)


@given(trials=st.integers(1, 10_000), share=st.floats(0, 1))
def test_wilson_contains_the_share_and_stays_within_bounds(trials, share):
    hits = round(trials * share)
    low, high = wilson(hits, trials)
    assert 0.0 <= low <= hits / trials <= high <= 1.0
    assert low < high


def test_wilson_is_the_published_one_and_nothing_is_known_of_nobody():
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert all(map(math.isnan, wilson(0, 0)))


@pytest.mark.parametrize("num_classes", [2, 3, None])
def test_an_interval_contains_the_metric(num_classes):
    said, _ = pair(num_classes, 60, 1)
    for name in default_metrics(num_classes):
        low, high = interval(name, said, generator(), 400)
        assert low <= measure(name, said) <= high


def test_an_interval_of_what_is_not_defined_is_nan():
    said, _ = pair(2, 5, 0)
    one_class = said.take(np.flatnonzero(said.targets == said.targets[0]))
    assert all(map(math.isnan, interval("auc", one_class, generator())))


@pytest.mark.parametrize("num_classes", [2, 3, None])
@pytest.mark.parametrize("seed", range(3))
def test_a_model_against_itself_neither_gains_nor_loses(num_classes, seed):
    said, _ = pair(num_classes, 20, seed)
    for name in default_metrics(num_classes):
        found = paired(name, said, said, generator(), 200)
        assert found.gain == 0.0
        assert found.interval == (0.0, 0.0)
        assert (found.p_worse, found.p_better) == (1.0, 1.0)
        assert not found.worse_by_chance().any()


@pytest.mark.parametrize("num_classes", [2, 3, None])
@pytest.mark.parametrize("seed", range(3))
def test_changing_sides_changes_signs(num_classes, seed):
    ours, theirs = pair(num_classes, 15, seed)
    for name in default_metrics(num_classes):
        one = paired(name, ours, theirs, generator(), 200)
        other = paired(name, theirs, ours, generator(), 200)
        assert one.gain == pytest.approx(-other.gain, nan_ok=True)
        assert one.interval == pytest.approx(tuple(-x for x in other.interval[::-1]), abs=1e-12)
        assert one.p_worse == other.p_better


def test_chance_favours_neither_model():
    ours, theirs = pair(2, 30, 0)
    chance = paired("log_loss", ours, theirs, generator(), 200).chance
    np.testing.assert_allclose(chance[::2], -chance[1::2])


def test_a_model_that_is_worse_on_every_row_is_called_worse_if_there_are_enough_rows():
    for rows, called in [(1, False), (4, False), (12, True)]:
        truth = np.zeros(rows)
        ours = Answers(targets=truth, predictions=truth + 2, losses=truth + 4)
        theirs = Answers(targets=truth, predictions=truth + 1, losses=truth + 1)
        found = paired("rmse", ours, theirs, generator())
        assert found.gain == -1.0
        assert (found.p_worse <= LEVEL) is called
        assert found.p_worse == pytest.approx(0.5**rows, abs=0.01)
        assert found.worse_by_chance().mean() <= LEVEL


@pytest.mark.parametrize("rows", [1, 4, 9, 40])
def test_a_p_is_never_zero_and_chance_is_even(rows):
    ours, theirs = pair(None, rows, 0)
    found = paired("rmse", ours, theirs, generator())
    assert found.p_worse >= 1 / 1024
    np.testing.assert_allclose(np.sort(found.chance), -np.sort(found.chance)[::-1], atol=1e-12)


def test_chance_makes_no_more_losers_than_the_level_says():
    """Two models of the same quality: about one in twenty clients is called worse."""
    calls, expected = 0, 0.0
    for seed in range(150):
        ours, theirs = pair(2, 25, seed)
        found = paired("log_loss", ours, theirs, generator(seed), 200)
        calls += found.p_worse <= LEVEL
        expected += found.worse_by_chance().mean()
    assert expected == pytest.approx(150 * LEVEL, rel=0.2)
    assert calls == pytest.approx(expected, abs=3 * math.sqrt(expected))


def test_models_that_rank_alike_do_not_differ_in_auc_whatever_their_scores_mean():
    ours, _ = pair(2, 40, 3)
    flat = ours.probabilities / 10 + 0.45  # the same order, far less sure
    found = paired("auc", ours, replace(ours, probabilities=flat), generator(), 200)
    assert found.gain == 0.0
    assert np.abs(found.chance).max() == 0.0


def test_the_mean_over_seeds_leaves_out_what_is_not_defined():
    ours, theirs = pair(2, 30, 0)
    one = paired("auc", ours, theirs, generator(), 100)
    rows = np.flatnonzero(ours.targets == 0)
    nothing = paired("auc", ours.take(rows), theirs.take(rows), generator(), 100)
    assert math.isnan(nothing.gain)
    assert math.isnan(nothing.p_worse)
    assert mean_of_pairs([one, nothing]).gain == one.gain
    assert mean_of_pairs([one, one]).interval == one.interval
    assert math.isnan(mean_of_pairs([nothing, nothing]).gain)
