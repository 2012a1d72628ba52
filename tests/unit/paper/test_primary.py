"""The verdict rule: Holm's intervals over eight comparisons, whatever of them has been run."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fedmgda.paper import (
    METRICS,
    PRIMARIES,
    STUDIES,
    Line,
    Setting,
    Verdict,
    decide,
    holm,
    load_study,
    paired_difference,
    plan_study,
    primaries_lines,
)
from fedmgda.paper._comparison import cell_name
from fedmgda.paper._primary import SEEDS, is_whole, samples

NAMES = [primary.name for primary in PRIMARIES]
BUILT = [primary for primary in PRIMARIES if primary.study in STUDIES]


@st.composite
def sets_of_samples(draw):
    """Samples of some of the comparisons, with effects from none to beyond doubt."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    effects = {name: draw(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0, 1.3, 3.0])) for name in names}
    return {
        name: {seed: effect + float(rng.normal()) for seed in sorted(SEEDS)}
        for name, effect in effects.items()
    }


def p_of(sample):
    return paired_difference(sample, dict.fromkeys(sample, 0.0)).p


@given(sets_of_samples())
def test_a_verdict_by_the_interval_is_a_verdict_by_the_adjusted_p_value(found):
    decisions = decide(found)
    missing = len(PRIMARIES) - len(found)
    adjusted = holm([*(p_of(found[d.primary.name]) for d in decisions), *[1.0] * missing])
    for decision, p in zip(decisions, adjusted, strict=False):
        assert decision.p_adjusted == pytest.approx(p)
        assert (decision.word == "undecided") == (p >= 0.05)
        if decision.word != "undecided":
            assert (decision.word == "holds") == (decision.mean > 0.0)


@given(sets_of_samples())
def test_an_undecided_one_says_from_which_mean_on_it_would_have_been_decided(found):
    for decision in decide(found):
        assert decision.low < decision.mean < decision.high
        assert (abs(decision.mean) <= decision.smallest) == (decision.word == "undecided")


@given(sets_of_samples(), sets_of_samples())
def test_what_is_decided_stays_decided_when_others_come(found, others):
    before = {d.primary.name: d.word for d in decide(found)}
    after = {d.primary.name: d.word for d in decide(others | found)}
    assert all(after[name] == word for name, word in before.items() if word != "undecided")


@given(sets_of_samples())
def test_a_single_comparison_is_tested_at_an_eighth_of_the_level_or_later(found):
    for decision in decide(found):
        sample = found[decision.primary.name]
        zeros = dict.fromkeys(sample, 0.0)
        widest = paired_difference(sample, zeros, confidence=1 - 0.05 / 8)
        narrowest = paired_difference(sample, zeros, confidence=0.95)
        assert widest.low <= decision.low + 1e-9
        assert decision.low <= narrowest.low + 1e-9


def sample_of(value):
    return {seed: value + 0.01 * seed for seed in sorted(SEEDS)}


def test_nothing_is_decided_or_shown_before_all_seeds_are_there():
    sample = sample_of(40.0)
    del sample[15]
    assert not is_whole(sample)
    assert decide({"P7": sample}) == []
    (text,) = primaries_lines({"P7": sample})
    assert text == "P7 waits: it is decided, and shown, when the seeds 15 are there."


def test_a_run_that_diverged_decides_nothing():
    (decision,) = decide({"P7": {**sample_of(40.0), 6: math.nan}})
    assert decision.word == "undecided"


def test_seeds_that_agree_to_the_last_digit_decide_nothing():
    (decision,) = decide({"P7": dict.fromkeys(SEEDS, 1.0)})
    assert decision.word == "undecided"


def test_the_words_of_each_verdict():
    texts = primaries_lines(
        {
            "P7": sample_of(3.0),
            "P8": sample_of(-3.0),
            "P1": dict(zip(SEEDS, range(-5, 5), strict=True)),
        }
    )
    holds, refuted, undecided = texts
    assert holds.startswith("P7 holds: protection lifts the worst 5 % of FedMGDA+: late_worst5 +3.")
    assert refuted.startswith("P8 refuted: protection lifts the average")
    assert "it would have been decided" in undecided


def line(study, cell, metric, values):
    verdict = Verdict(word="not comparable")
    return Line(cell=cell, metric=metric, values=values, published=None, verdict=verdict)


@pytest.mark.parametrize("primary", BUILT, ids=lambda primary: primary.name)
def test_a_comparison_names_rows_of_its_study_and_is_read_from_its_lines(primary):
    study = load_study(primary.study)
    setting = Setting(rounds=primary.rounds, seeds=range(6, 16))
    assert primary.metric in METRICS
    cells = {cell_name(study, run.cell): run.cell for run in plan_study(study, setting)}
    assert {*primary.plus, *primary.minus} <= set(cells)
    lines = [
        line(study, cells[row], primary.metric, {seed: sign * seed for seed in range(1, 16)})
        for rows, sign in ((primary.plus, 2.0), (primary.minus, 1.0))
        for row in rows
    ]
    times = len(primary.plus)
    assert samples(study, setting, lines)[primary.name] == {s: times * s for s in SEEDS}


@pytest.mark.parametrize(
    "setting",
    [
        Setting(rounds=3),
        Setting(compat="released-code"),
        Setting(changes=("clients.client_lr=0.1",)),
    ],
)
def test_there_are_none_in_a_setting_that_was_not_meant(setting):
    study = load_study("fmnist-rules")
    lines = [
        line(study, {"variant": row}, "late_average", dict.fromkeys(SEEDS, 1.0))
        for row in ("FedMGDA+", "FedAvg")
    ]
    assert samples(study, setting, lines) == {}
    assert set(samples(study, Setting(), lines)) == {"P1"}


def test_there_are_eight():
    assert [f"P{k}" for k in range(1, 9)] == NAMES
