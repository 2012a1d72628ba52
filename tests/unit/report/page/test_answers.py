"""What stands first says what the judges said, in numbers that the folders hold."""

import pytest

from fedmgda.experiments import compare_runs, open_run
from fedmgda.report.page._answers import answers
from fedmgda.report.page._facts import group_facts, measure_of
from fedmgda.report.page._joined import compare_groups, joined_table
from fedmgda.report.page._over_rounds import certificate_table, improved_table
from fedmgda.report.page._source import read_source
from fedmgda.report.page._steering import steering_table


@pytest.fixture(scope="module")
def source(sweep):
    return read_source([sweep])


@pytest.fixture(scope="module")
def joined(source):
    return compare_groups(source)


def test_runs_that_differ_in_the_seed_only_are_one_and_baselines_come_last(source):
    assert [group.name for group in source.groups] == [
        "attacked", "mgda", "protected", "fedavg", "alone",
    ]  # fmt: skip
    assert [view.seed for view in source.groups[1].views] == [0, 1]


def test_a_pair_is_what_compare_says_of_it(sweep, joined):
    pair = next(p for p in joined.pairs if (p.ours, p.theirs) == ("fedavg", "alone"))
    said = compare_runs([sweep / "fedavg_seed=0", sweep / "alone"], against="alone")
    assert pair.found.conclusion == said.conclusion
    assert pair.against.worse == said.against[0].worse


def test_every_federated_run_is_held_against_alone_and_against_fedavg(joined):
    pairs = {(pair.ours, pair.theirs) for pair in joined.pairs}
    for name in ("mgda", "protected"):
        assert {(name, "alone"), (name, "fedavg")} <= pairs
    assert ("fedavg", "fedavg") not in pairs
    assert ("attacked", "fedavg") not in pairs, "one is attacked, the other is not"


def test_what_cannot_be_compared_says_why(joined):
    # The attacker's rows count on one side only.
    assert any("attacked" in sentence for sentence in joined.why_not)


def test_who_has_no_gain_is_in_no_row(joined):
    assert None not in joined_table(joined).column("gain")


def test_the_counts_are_those_of_the_summary(sweep, source, joined):
    measure = measure_of(source)
    for name in ("protected", "fedavg_seed=0"):
        summary = open_run(sweep / name).summary
        group = next(g for g in source.groups if g.first.run.path == sweep / name)
        facts = group_facts(group, measure, joined)
        assert facts.against == summary.rounds_that_sacrificed
        assert facts.stalled == summary.rounds_stalled
        assert facts.failed == summary.rounds_failed
        assert facts.quarantined == summary.quarantined
        assert facts.improved == pytest.approx(summary.improved)
        if summary.protection is not None:
            assert facts.held == summary.protection.rounds_held
            assert facts.rose == summary.protection.rose_as_measured


def test_each_question_has_an_answer_with_a_number(source, joined):
    facts = [group_facts(group, "accuracy", joined) for group in source.groups]
    found = {one.question: one.answer for one in answers(facts, joined)}
    pair = next(p for p in joined.pairs if p.theirs == "alone")
    told = found["Worse off than alone?"]
    assert f"{pair.against.worse} of {pair.users} users under {pair.ours} (chance" in told
    assert {"Did it learn?", "Was anyone sacrificed?", "Did rounds do nothing?"} <= set(found)
    assert "alone" not in found["Did it learn?"]


def test_comparisons_are_made_again_only_if_a_run_was_finished_since(sweep, joined):
    assert compare_groups(read_source([sweep]), before=joined) is joined
    fewer = read_source([sweep / "fedavg_seed=0", sweep / "alone"])
    assert compare_groups(fewer, before=joined) is not joined


def test_the_weights_of_a_round_add_up(source):
    table = steering_table(source)
    sums = {}
    for run, _, first, last, lam, rounds in table.rows:
        assert first == last, "six rounds need no spans"
        sums[run, first] = sums.get((run, first), 0.0) + lam * rounds
    assert len(sums) == 4 * 6
    assert all(total == pytest.approx(1.0) for total in sums.values())


def test_a_band_holds_its_mean(source):
    for table in (improved_table(source), certificate_table(source)):
        low, mean, high = (table.column(name) for name in ("low", "mean", "high"))
        slack = 1e-9
        assert all(a - slack <= b <= c + slack for a, b, c in zip(low, mean, high, strict=True)), (
            table.name
        )
