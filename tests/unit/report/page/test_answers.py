"""What stands first says what the judges said, in numbers that the folders hold."""

from dataclasses import replace
from statistics import fmean

import pytest

from fedmgda.experiments import compare_runs, of_clients, open_run
from fedmgda.report.page._answers import answers
from fedmgda.report.page._facts import group_facts, measure_of
from fedmgda.report.page._first_screen import verdicts
from fedmgda.report.page._joined import Joined, compare_groups, joined_table
from fedmgda.report.page._over_rounds import certificate_table, improved_table
from fedmgda.report.page._source import read_source
from fedmgda.report.page._steering import steering_table
from fedmgda.report.page._story import story_tables
from fedmgda.report.page._users import users_table
from runs import FORMAT_1, copy_of, finished_run
from tables import write_table


@pytest.fixture(scope="module")
def source(sweep):
    return read_source([sweep])


@pytest.fixture(scope="module")
def joined(source):
    return compare_groups(source)


def test_runs_that_differ_in_the_seed_only_are_one_and_baselines_come_last(source):
    assert [group.name for group in source.groups] == [
        "mgda", "protected", "attacked", "fedavg", "alone",
    ]  # fmt: skip
    assert [view.seed for view in source.groups[0].views] == [0, 1]


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


def test_what_cannot_be_compared_says_why(sweep, tmp_path):
    finished_run(tmp_path / "fewer", data={"num_clients": 3})
    joined = compare_groups(read_source([sweep / "fedavg_seed=0", tmp_path / "fewer"]))
    assert any("fewer" in sentence for sentence in joined.why_not)


def test_an_attacked_run_is_held_against_alone_by_its_honest_users(joined):
    pair = next(p for p in joined.pairs if (p.ours, p.theirs) == ("attacked", "alone"))
    honest = [user for user, gain in zip(pair.users, pair.against.clients, strict=True)
              if gain.gain == gain.gain]  # fmt: skip
    assert honest == [f"client {client} (seed 0)" for client in (0, 2, 3)]


def test_users_of_two_seeds_that_are_strangers_are_nowhere_one_user(source, joined):
    """The seed deals the rows: client 1 of seed 0 and client 1 of seed 1 have nothing in common."""
    group = next(g for g in source.groups if g.name == "mgda")
    story, ends = story_tables(source, "accuracy")
    for table in (users_table(source, "accuracy", joined), story, ends):
        found = {}
        for (
            run,
            user,
            *_,
        ) in table.rows:
            if run == "mgda":
                found[user] = found.get(user, 0) + 1
        assert set(found) == {f"client {i} (seed {s})" for i in range(4) for s in (0, 1)}
    assert all(row[ends.columns.index("seeds")] == 1 for row in ends.rows)
    last = {view.seed: view.evaluations[-1] for view in group.views}
    for run, user, number, value in story.rows:
        if run == "mgda" and number == 6:
            client, seed = int(user.split()[1]), int(user[-2])
            assert value == last[seed].accuracies[client]
    pair = next(p for p in joined.pairs if p.ours == "mgda")
    assert pair.against.apart
    facts = [group_facts(one, "accuracy", joined) for one in source.groups]
    told = next(a.answer for a in answers(facts, joined) if a.question == "Worse off than alone?")
    assert " of 4 users a seed under mgda" in told


def test_the_same_user_of_two_seeds_is_one_and_its_story_is_the_mean(tmp_path):
    """The story showed the first seed beside gains that were means over both."""
    data = write_table(tmp_path / "rows.csv")
    for seed in (0, 1):
        finished_run(tmp_path / "all" / f"mine_seed={seed}", seed=seed, data=data, model={})
    source = read_source([tmp_path / "all"])
    joined = compare_groups(source)
    users = users_table(source, "accuracy", joined)
    story, ends = story_tables(source, "accuracy")
    assert users.column("user") == ends.column("user") == ["east", "north", "south", "west"]
    assert ends.column("seeds") == [2] * 4
    runs = [open_run(tmp_path / "all" / f"mine_seed={seed}") for seed in (0, 1)]
    for client, place in enumerate(range(4)):
        each = [run.clients[client] for run in runs]
        mean = pytest.approx(fmean(one.test_accuracy for one in each))
        assert ends.column("value")[place] == users.column("value")[place] == mean
        assert ends.column("low")[place] == pytest.approx(users.column("low")[place])
        assert ends.column("rounds taken part")[place] == sum(one.rounds for one in each)
        assert [row[3] for row in story.rows if row[1] == each[0].name][-1] == mean
    low, value, high = (story.column(name) for name in ("low", "value", "high"))
    assert all(a <= b <= c for a, b, c in zip(low, value, high, strict=True))
    assert any(a < c for a, c in zip(low, high, strict=True))


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
    assert f"{of_clients(pair.against.worse, pair.against, 'user')} under {pair.ours} (cha" in told
    assert {"Did it learn?", "Was anyone sacrificed?", "Did rounds do nothing?"} <= set(found)
    assert "alone" not in found["Did it learn?"]


@pytest.mark.parametrize(
    ("losing", "more", "mood"),
    [(3, "; 3 score lower at all, by chance 1)", "warn"), (2, "", "good")],
)
def test_many_who_lose_a_little_are_told_though_of_nobody_it_is_sure(joined, losing, more, mood):
    """Nobody was worse off by its own rows, 23 of 81 scored lower, and the page was all clear."""
    pair = next(p for p in joined.pairs if p.known_chance)
    less = replace(
        pair.against, worse=0, losing=losing, losing_by_chance=1.2, losing_by_chance_95=2
    )
    alone = Joined(pairs=(replace(pair, found=replace(pair.found, against=(less,))),))
    told = next(one for one in answers([], alone) if one.question.startswith("Worse off than"))
    assert told.mood == mood
    assert told.answer.endswith(more + "." if more else ").")
    assert ("at all" in told.answer) == bool(more)


@pytest.mark.parametrize(
    ("improved", "said", "mood"),
    [(100.0, "100", "good"), (99.97, "99.9", "warn"), (60.0, "60", "warn")],
)
def test_no_round_against_anybody_is_no_all_clear_where_losses_rose(
    source, joined, improved, said, mood
):
    """0 of 200 rounds went against somebody, in green; of the losses four in ten rose."""
    group = next(group for group in source.groups if group.name == "mgda")
    facts = replace(group_facts(group, "accuracy", joined), against=0, improved=improved)
    told = next(one for one in answers([facts], joined) if "sacrificed" in one.question)
    assert f"training loss a round did not raise: {said} % under mgda." in told.answer
    assert told.mood == mood


def test_a_run_that_kept_no_test_rows_and_has_no_rival_is_held_against_nothing(tmp_path):
    """It was told that there is no run called constant, and to name another."""
    source = read_source([copy_of(FORMAT_1 / "finished", tmp_path / "old")])
    joined = compare_groups(source)
    assert joined.pairs == ()
    facts = [group_facts(group, "accuracy", joined) for group in source.groups]
    found = {one.question: one for one in answers(facts, joined)}
    worse = found["Is anyone worse off?"].answer
    assert worse.startswith("Not known: no test rows were kept to hold a run against a constant")
    learned = found["Did it learn?"]
    assert (learned.answer, learned.mood) == ("May have learned.", "warn")


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


def test_a_run_that_was_killed_has_learned_so_far_at_most(stopped):
    """Its badge and its verdict were those of a finished run."""
    source = read_source([stopped])
    (facts,) = [group_facts(group, "accuracy", Joined()) for group in source.groups]
    assert all(outcome.endswith(" so far") for outcome in facts.outcomes)
    assert facts.sentence.startswith("After round 3 of 6: It ")
    assert "so far</span>" in verdicts([facts], source)


def test_runs_of_several_seeds_that_learned_have_one_sentence_for_all(tmp_path):
    """That of a baseline was the sentence of seed 0."""
    for seed in (0, 1):
        path = tmp_path / "runs" / f"pooled_seed={seed}"
        finished_run(path, seed=seed, baseline="pooled", rounds=20, model={"hidden": [8]})
    source = read_source([tmp_path / "runs"])
    (facts,) = [group_facts(group, "accuracy", Joined()) for group in source.groups]
    losses = sorted(view.verdict.loss for view in source.views)
    assert facts.outcomes == {"learned": 2}
    assert facts.sentence.startswith(
        f"It learned in all 2 seeds: test loss {losses[0]:.3g} to {losses[1]:.3g}, "
    )
