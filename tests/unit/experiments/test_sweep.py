import json
import math
import os
import re
import signal

import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import COLUMNS, Collection, columns_of, demo_table, plan_sweep

SMALL = {
    "rounds": 2,
    "data": {"num_clients": 4, "partition": "iid"},
    "model": {"name": "logistic"},
    "clients": {"per_round": 2, "batch_size": "full"},
}


def small(**sweep):
    return SMALL | {"sweep": sweep}


def test_a_grid_is_every_combination_times_every_seed():
    runs = plan_sweep(small(seeds=[1, 2], grid={"rule.epsilon": [0.0, 1.0], "rounds": [2, 3]}))
    assert len(runs) == 8
    assert len({run.folder_name for run in runs}) == 8
    assert runs[0].cell == {"rule.epsilon": "0.0", "rounds": "2"}
    assert [(run.spec.rule.epsilon, run.spec.rounds, run.seed) for run in runs[:3]] == [
        (0.0, 2, 1),
        (0.0, 2, 2),
        (0.0, 3, 1),
    ]


def test_variants_are_partial_specs_with_a_label():
    variants = [
        {"label": "A", "rule": {"name": "fedavg"}},
        {"label": "B", "rule": {"name": "q-fedavg", "q": 2.0}, "server": {"lr": 0.5}},
    ]
    runs = plan_sweep(small(variants=variants))
    assert [run.cell["variant"] for run in runs] == ["A", "B"]
    assert (runs[1].spec.rule.q, runs[1].spec.server.lr) == (2.0, 0.5)


def test_without_a_sweep_table_there_is_one_run():
    assert [run.folder_name for run in plan_sweep(SMALL)] == ["seed=0"]


def test_folder_names_are_safe():
    runs = plan_sweep(small(variants=[{"label": "../a b/*"}]))
    assert runs[0].folder_name == "..-a-b-_seed=0"


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"sead": [1]}, "did you mean 'sweep.seeds'?"),
        ({"seeds": []}, "sweep.seeds must be a list of whole numbers"),
        ({"seeds": ["a"]}, "sweep.seeds must be a list of whole numbers"),
        ({"grid": {"rounds": 3}}, "sweep.grid.rounds must be a list of values"),
        ({"grid": {"rounds": [3, 3]}}, "share the folder"),
        ({"grid": {"rule.epsilom": [1]}}, "did you mean 'rule.epsilon'?"),
        ({"variants": [{"rounds": 2}]}, "needs a label"),
        ({"variants": 3}, "sweep.variants must be a list of tables"),
        ({"variants": {}}, "sweep.variants must be a list of tables"),
        ({"grid": [1]}, "sweep.grid a table of lists"),
        (
            {"seeds": [*range(1000)], "grid": {key: [*range(100)] for key in "abcdef"}},
            "The sweep has 1000000000000000 runs, more than 100000; take fewer values.",
        ),
    ],
)
def test_a_bad_sweep_is_refused_before_anything_runs(sweep, message):
    with pytest.raises(SpecError, match=message.replace("?", r"\?")):
        plan_sweep(small(**sweep))


RULES = [
    {"label": "A", "rule": {"name": "fedavg"}},
    {"label": "B", "rule": {"name": "fedmgda+"}, "server": {"lr": 0.5}},
]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["rule.epsilon=0.5"], "rule.epsilon would be ignored: in every run the variant"),
        (["rule.name=fedavg"], "sets it or names another rule; leave it out"),
        (["rule.epsilon=1", "rule.name=fedmgda"], "rule.name would be ignored"),
        (["data.num_clients=6"], "data.num_clients would be ignored: in every run"),
        (["seed=5"], "seed would be ignored: sweep.seeds gives every run its seed"),
        (["seed=1"], "seed would be ignored"),
        (["rule.epsilom=1"], "no key 'rule.epsilom'; did you mean 'rule.epsilon'?"),
        (["rule.epsilon=3"], "rule.epsilon must lie in [0, 1], got 3"),
        (["rule=fedavg"], "rule must be a table of keys"),
        (["sweep.seads=[1]"], "did you mean 'sweep.seeds'?"),
        (["rounds"], "must have the form section.key=value"),
    ],
)
def test_an_override_that_no_run_would_follow_is_refused(overrides, message):
    table = small(seeds=[0, 1], variants=RULES, grid={"data.num_clients": [4, 5]})
    with pytest.raises(SpecError, match=re.escape(message)):
        plan_sweep(table, overrides)


@pytest.mark.parametrize(
    ("overrides", "key", "values"),
    [
        (["rounds=3"], lambda spec: spec.rounds, {3}),
        (["rounds=2"], lambda spec: spec.rounds, {2}),
        (["rounds=3", "rounds=4"], lambda spec: spec.rounds, {4}),
        (["server.lr=2"], lambda spec: spec.server.lr, {2.0, 0.5}),
        (["sweep.seeds=[7]"], lambda spec: spec.seed, {7}),
        (["rule.name=fedmgda+", "rule.epsilon=0.5"], lambda spec: spec.rule.epsilon, {None, 0.5}),
        (["rule.epsilon=0.5", "rule.name=fedmgda+"], lambda spec: spec.rule.epsilon, {None, 0.5}),
        (['attack={name="scale-loss", factor=3}'], lambda spec: spec.attack.factor, {3.0}),
    ],
)
def test_an_override_that_reaches_a_run_is_followed(overrides, key, values):
    runs = plan_sweep(small(seeds=[0, 1], variants=RULES), overrides)
    assert {key(run.spec) for run in runs} == values


def test_a_seed_may_be_changed_where_the_sweep_names_none():
    assert {run.seed for run in plan_sweep(small(variants=RULES), ["seed=5"])} == {5}


def test_an_override_counts_only_in_the_rows_that_are_run():
    table = small(variants=RULES)
    assert [run.spec.server.lr for run in plan_sweep(table, ["server.lr=2"], ["A"])] == [2.0]
    with pytest.raises(SpecError, match=r"server\.lr would be ignored"):
        plan_sweep(table, ["server.lr=2"], ["B"])


def test_a_sweep_without_rows_says_so():
    with pytest.raises(SpecError, match=r"There is no row 'A'; the sweep has none\."):
        plan_sweep(SMALL, rows=["A"])


def test_finished_runs_are_skipped_and_the_table_has_mean_and_std(tmp_path):
    runs = plan_sweep(small(seeds=[0, 1], grid={"rule.epsilon": [0.0, 1.0]}))
    collection = Collection(tmp_path, runs)
    first = list(collection.execute())
    assert [state.index for state in first if state.finished] == [0, 1, 2, 3]
    assert list(Collection(tmp_path, runs).execute()) == []
    rows = collection.write_table()
    assert [row.runs for row in rows] == [2, 2]
    averages = [s.honest.accuracy["average"] for s in collection.summaries()[:2]]
    assert rows[0].means["average %"] == pytest.approx(50 * sum(averages))
    assert rows[0].stds["average %"] == pytest.approx(50 * abs(averages[0] - averages[1]))
    table = (tmp_path / "summary.md").read_text().splitlines()
    assert table[0].startswith("| rule.epsilon | seeds | average % |")
    assert len(table) == 4
    assert len((tmp_path / "summary.csv").read_text().splitlines()) == 3
    assert len(json.loads((tmp_path / "summary.json").read_text())) == 2


def test_a_table_with_protected_runs_tells_what_was_held_and_others_stay_as_they_were(tmp_path):
    plain = {"label": "plain", "rule": {"name": "fedavg"}}
    protected = {"label": "protected", "rule": {"name": "fedavg"}, "server": {"protect": True}}
    more = ["improved with step %", "held %", "overridden %"]
    for name, variants in (("one", [plain]), ("both", [plain, protected])):
        collection = Collection(tmp_path / name, plan_sweep(small(variants=variants)))
        for _ in collection.execute():
            pass
        rows = collection.write_table()
        assert columns_of(rows) == (*COLUMNS, *(more if name == "both" else ()))
        head = (tmp_path / name / "summary.csv").read_text().splitlines()[0]
        assert ("held % mean" in head) == (name == "both")
        for line in (tmp_path / name / "summary.md").read_text().splitlines():
            assert line.count("|") == 3 + len(columns_of(rows))
    plain_row, protected_row = rows
    assert all(math.isnan(plain_row.means[column]) for column in more)
    held = collection.summaries()[1].protection.rounds_held
    rounds = collection.summaries()[1].protection.rounds
    assert protected_row.means["held %"] == pytest.approx(100 * held / rounds)
    assert protected_row.means["improved with step %"] == 100.0
    assert protected_row.means["overridden %"] == 0.0


def test_an_unfinished_cell_has_an_empty_row(tmp_path):
    collection = Collection(tmp_path, plan_sweep(small(seeds=[0])))
    rows = collection.write_table()
    assert rows[0].runs == 0
    assert math.isnan(rows[0].means["average %"])


@pytest.mark.parametrize("sweep", [3, []])
def test_a_sweep_that_is_no_table_is_refused(sweep):
    with pytest.raises(SpecError, match="sweep must be a table of keys"):
        plan_sweep(SMALL | {"sweep": sweep})


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path, jobs):
    runs = plan_sweep(small(seeds=[0, 1, 2]))
    collection = Collection(tmp_path, runs)
    (tmp_path / "seed=1" / "checkpoints").write_text("a file where a folder should be")
    states = list(collection.execute(jobs))
    failed = [state for state in states if state.error]
    assert [state.index for state in failed] == [1]
    assert sorted(state.index for state in states if state.finished) == [0, 2]
    assert "NaN" not in (collection.write_table() and (tmp_path / "summary.json").read_text())


def test_a_run_whose_process_is_killed_is_a_failure(tmp_path):
    collection = Collection(tmp_path, plan_sweep(small(seeds=[0, 1]) | {"rounds": 300}))
    states, killed = [], None
    for state in collection.execute(2):
        states.append(state)
        if killed is None and state.index == 1 and state.round_num == 3:
            killed = int((tmp_path / "seed=1" / "lock").read_text())
            os.kill(killed, signal.SIGKILL)
    ends = {state.index: state for state in states if state.finished or state.error}
    assert ends[0].finished
    assert "ended with code -9" in ends[1].error
    assert ends[1].exit_code == 1


def test_the_demo_is_what_the_readme_says():
    runs = plan_sweep(demo_table())
    assert len(runs) == 4 * 2 * 2
    for run in runs:
        spec = run.spec
        assert (spec.data.num_clients, spec.data.shards_per_client) == (20, 2)
        assert (spec.rounds, spec.clients.per_round, spec.clients.batch_size) == (150, 10, 10)
        assert (spec.clients.client_lr, spec.model.hidden) == (0.1, (32,))
        if run.cell["attack"] == "yes":
            assert (spec.attack.name, spec.attack.factor) == ("scale-loss", 100.0)
