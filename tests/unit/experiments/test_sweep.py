import json
import math
import os
import signal

import pytest

from fedmgda._errors import SpecError
from fedmgda.experiments import Collection, demo_table, plan_sweep

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
    ],
)
def test_a_bad_sweep_is_refused_before_anything_runs(sweep, message):
    with pytest.raises(SpecError, match=message.replace("?", r"\?")):
        plan_sweep(small(**sweep))


def test_finished_runs_are_skipped_and_the_table_has_mean_and_std(tmp_path):
    runs = plan_sweep(small(seeds=[0, 1], grid={"rule.epsilon": [0.0, 1.0]}))
    collection = Collection(tmp_path, runs)
    first = list(collection.execute())
    assert [state.index for state in first if state.finished] == [0, 1, 2, 3]
    assert list(Collection(tmp_path, runs).execute()) == []
    rows = collection.write_table()
    assert [row.runs for row in rows] == [2, 2]
    averages = [s["honest"]["accuracy"]["average"] for s in collection.summaries()[:2]]
    assert rows[0].means["average %"] == pytest.approx(50 * sum(averages))
    assert rows[0].stds["average %"] == pytest.approx(50 * abs(averages[0] - averages[1]))
    table = (tmp_path / "summary.md").read_text().splitlines()
    assert table[0].startswith("| rule.epsilon | seeds | average % |")
    assert len(table) == 4
    assert len((tmp_path / "summary.csv").read_text().splitlines()) == 3
    assert len(json.loads((tmp_path / "summary.json").read_text())) == 2


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
