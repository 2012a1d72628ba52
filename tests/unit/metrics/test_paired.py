"""How sure a metric is, and whether a difference is more than chance makes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.metrics import (
    FEW_ROWS,
    LEVEL,
    Answers,
    SameRows,
    default_metrics,
    interval,
    measure,
    paired,
    paired_over_seeds,
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


def on_rows(rows, ours, theirs):
    return SameRows(rows=np.asarray(rows), ours=ours, theirs=theirs)


def errors(values):
    """Return answers that are wrong by so much."""
    truth = np.zeros(len(values))
    return Answers(targets=truth, predictions=np.asarray(values), losses=truth)


def shares(right, rows=10):
    """Return answers of which so many are right."""
    said = (np.arange(rows) >= right).astype(int)
    return Answers(targets=said * 0, predictions=said, losses=np.ones(rows), num_classes=2)


def test_the_mean_over_seeds_leaves_out_what_is_not_defined():
    ours, theirs = pair(2, 30, 0)
    rows = np.flatnonzero(ours.targets == 0)
    one = on_rows(np.arange(30), ours, theirs)
    nothing = on_rows(rows + 30, ours.take(rows), theirs.take(rows))
    alone = paired("auc", ours, theirs, generator(), 100)
    both = paired_over_seeds("auc", [one, nothing], generator(), 100)
    assert (both.gain, both.interval, both.p_worse) == (alone.gain, alone.interval, alone.p_worse)
    none = paired_over_seeds("auc", [nothing, nothing], generator(), 100)
    assert all(map(math.isnan, (none.gain, none.p_worse, none.p_better, *none.interval)))


@pytest.mark.parametrize("num_classes", [2, 3, None])
def test_a_test_that_is_repeated_on_the_same_rows_makes_nothing_surer(num_classes):
    """Seeds were taken to share no rows: three of them made intervals and p too small."""
    ours, theirs = pair(num_classes, 14, 4)
    for name in default_metrics(num_classes):
        test = on_rows(np.arange(14) * 3, ours, theirs)
        one = paired(name, ours, theirs, generator(), 64)
        three = paired_over_seeds(name, [test] * 3, generator(), 64)
        assert three.gain == pytest.approx(one.gain)
        np.testing.assert_allclose(three.chance, one.chance, atol=1e-12)
        np.testing.assert_allclose(three.samples, one.samples, atol=1e-12)
        assert (three.p_worse, three.p_better) == (one.p_worse, one.p_better)


def test_seeds_that_share_rows_call_no_more_clients_worse_than_the_level_says():
    """Twenty seeds test a tenth of 100 rows each; it was one client in six, not in twenty."""
    rng, called, covered, repeats = generator(5), 0, 0, 60
    for _ in range(repeats):
        of_both = rng.normal(size=(2, 100))
        tests = [
            on_rows(rows, errors(of_both[0, rows]), errors(of_both[1, rows]))
            for rows in (rng.permutation(100)[:10] for _ in range(20))
        ]
        found = paired_over_seeds("mae", tests, rng, 128)
        called += (found.p_worse <= LEVEL) + (found.p_better <= LEVEL)
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert called <= 13  # 6 are expected, and 21 were before
    assert covered >= 50  # 57 are expected, and 42 were before


@given(first=st.integers(1, 9), second=st.integers(1, 9), shared=st.integers(0, 9),
       seed=st.integers(0, 99), exponent=st.integers(-9, 9))  # fmt: skip
def test_no_p_over_seeds_is_below_what_so_many_rows_allow(first, second, shared, seed, exponent):
    """It was 0 for two seeds of eight rows each, all of them worse."""
    rng, unit = generator(seed), 10.0**exponent
    starts = ((first, 0), (second, max(0, first - shared)))
    tests = [
        on_rows(start + np.arange(n), errors(unit * (1 + rng.random(n))),
                errors(unit * rng.random(n)))
        for n, start in starts
    ]  # fmt: skip
    rows = len(np.unique(np.concatenate([test.rows for test in tests])))
    found = paired_over_seeds("rmse", tests, rng)
    assert found.p_worse >= max(1 / 1024, 2.0**-rows)
    assert found.p_better >= max(1 / 1024, 2.0**-rows)
    if rows <= 10:  # all ways to swap; every row is worse, and no other way is as bad
        assert found.p_worse == 2.0**-rows


def test_a_gain_and_an_equal_loss_are_a_tie():
    """Their mean was -2.8e-17, which counted as a loser and not as one that chance makes."""
    tests = [on_rows(np.arange(10), shares(7), shares(6)),
             on_rows(np.arange(10, 20), shares(3), shares(4))]  # fmt: skip
    found = paired_over_seeds("accuracy", tests, generator())
    assert found.gain == 0.0
    assert min(found.p_worse, found.p_better) > 0.5


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_ties_and_p_do_not_depend_on_the_unit(unit):
    ours, theirs = pair(None, 12, 1)
    one = paired("rmse", ours, theirs, generator(), 256)
    scaled = [replace(said, scale=3.0 * unit) for said in (ours, theirs)]
    other = paired("rmse", *scaled, generator(), 256)
    assert (one.p_worse, one.p_better) == (other.p_worse, other.p_better)
    np.testing.assert_array_equal(one.loses_by_chance(), other.loses_by_chance())
    np.testing.assert_array_equal(one.worse_by_chance(), other.worse_by_chance())


def test_few_rows_have_no_interval_by_the_bootstrap():
    """Of three rows it held the gain of RMSE in 75 of 100 simulated cases, of one row never."""
    for rows in (1, FEW_ROWS - 1, FEW_ROWS):
        ours, theirs = pair(None, rows, 0)
        bounds = (*paired("rmse", ours, theirs, generator()).interval,
                  *interval("rmse", ours, generator()))  # fmt: skip
        assert [math.isnan(bound) for bound in bounds] == [rows < FEW_ROWS] * 4
    assert interval("accuracy", shares(3, rows=4), generator()) == wilson(3, 4)
