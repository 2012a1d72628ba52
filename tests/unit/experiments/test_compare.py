"""Who is better off: laws of comparing runs row by row."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.cli._compare_screen import show_comparison
from fedmgda.experiments import compare_runs, comparison_csv, open_run, to_json
from fedmgda.experiments._compared import constant_side, open_sides
from fedmgda.metrics import measure
from runs import copy_of, finished_run, stopped_run
from tables import write_table

DRAWS = 64


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder of runs on a table: two rules and two baselines."""
    folder = tmp_path_factory.mktemp("compare")
    data = write_table(folder / "rows.csv", positives=0.3)
    table = {"data": data, "model": {}, "clients": {"per_round": 2, "client_lr": 0.3}}
    for name, more in {
        "fedmgda+": {},
        "fedavg": {"rule": {"name": "fedavg"}},
        "alone": {"baseline": "alone"},
        "pooled": {"baseline": "pooled"},
    }.items():
        finished_run(folder / "all" / name, **table, **more)
    return folder / "all"


def compared(*paths, **options):
    return compare_runs(list(paths), draws=DRAWS, **options)


def test_a_folder_of_runs_is_the_federation_against_all_others(runs):
    found = compared(runs)
    assert [run.name for run in found.runs] == ["fedmgda+", "fedavg", "alone", "pooled", "constant"]
    assert [other.name for other in found.against] == ["fedavg", "alone", "pooled", "constant"]
    assert found.metric == "accuracy"
    assert found.clients == ("east", "north", "south", "west")
    assert sum(found.rows) == len(open_run(runs / "alone").predictions().rows)
    pooled = open_run(runs / "fedmgda+").summary.metrics.pooled
    assert found.runs[0].pooled == pooled["accuracy"]


@pytest.mark.parametrize("metric", ["accuracy", "auc", "log_loss", "f1", "recall"])
def test_nobody_gains_or_loses_against_the_run_itself(runs, tmp_path, metric):
    twin = copy_of(runs / "fedavg", tmp_path / "twin")
    (other, _) = compared(runs / "fedavg", twin, metric=metric).against
    assert other.name == "twin"
    assert (other.gaining, other.losing, other.better, other.worse) == (0, 0, 0, 0)
    assert (other.worse_by_chance, other.losing_by_chance) == (0.0, 0.0)
    assert (other.gain, other.low, other.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "auc"])
def test_changing_the_order_of_runs_changes_signs(runs, metric):
    one, *_ = compared(runs / "fedmgda+", runs / "alone", metric=metric).against
    other, *_ = compared(runs / "alone", runs / "fedmgda+", metric=metric).against
    assert (one.gaining, one.losing) == (other.losing, other.gaining)
    assert (one.better, one.worse) == (other.worse, other.better)
    assert one.gain == pytest.approx(-other.gain)
    for mine, theirs in zip(one.clients, other.clients, strict=True):
        assert mine.gain == pytest.approx(-theirs.gain, nan_ok=True)
        assert mine.p_worse == pytest.approx(theirs.p_better, nan_ok=True)
        assert mine.low == pytest.approx(-theirs.high, nan_ok=True)


def test_relabelling_the_clients_permutes_the_lines(runs, monkeypatch):
    from fedmgda.experiments import _compare  # noqa: PLC0415

    before = compared(runs).against[1]
    order = np.array([2, 0, 3, 1])

    def relabelled(paths):
        sides, notes = open_sides(paths)
        return [
            replace(
                side,
                clients=order[side.clients],
                names=tuple(side.names[i] for i in np.argsort(order)),
            )
            for side in sides
        ], notes

    monkeypatch.setattr(_compare, "open_sides", relabelled)
    after = compared(runs).against[1]
    assert (after.gaining, after.losing, after.worse) == (
        before.gaining, before.losing, before.worse,
    )  # fmt: skip
    by_name = {client.client: client for client in after.clients}
    assert [by_name[client.client] for client in before.clients] == list(before.clients)


def test_the_constant_predictor_has_no_ranks_and_the_majority(runs):
    (side, *_), _ = open_sides([runs / "fedavg"])
    constant = constant_side(side)
    assert measure("auc", constant.answers) == 0.5
    assert measure("recall", constant.answers) == 0.0
    share = np.mean(side.answers.targets != side.answers.positive)
    assert measure("accuracy", constant.answers) == share


def test_values_and_intervals_are_those_of_the_rows(runs):
    found = compared(runs)
    for run, path in zip(found.runs, ("fedmgda+", "fedavg", "alone", "pooled"), strict=False):
        known = [client.metrics["accuracy"] for client in open_run(runs / path).clients]
        assert list(run.clients) == pytest.approx(known)
        assert all(
            low <= value <= high for low, value, high in zip(run.low, known, run.high, strict=True)
        )
        assert run.worst == min(known)
    mine = found.against[1]
    gains = np.array(found.runs[0].clients) - np.array(found.runs[2].clients)
    assert [client.gain for client in mine.clients] == pytest.approx(gains)
    assert mine.losing == (gains < 0).sum()


def test_only_the_run_that_was_asked_for(runs):
    assert [other.name for other in compared(runs, against="alone").against] == ["alone"]
    assert [other.name for other in compared(runs, against="constant").against] == ["constant"]
    with pytest.raises(SpecError, match="There is no run 'alon' to compare with; did you mean"):
        compared(runs, against="alon")


def test_a_regression_is_compared_in_units(tmp_path):
    data = write_table(tmp_path / "rows.csv", task="values")
    table = {"data": data, "model": {}}
    mine = finished_run(tmp_path / "a", **table).path
    finished_run(tmp_path / "b", rule={"name": "fedavg"}, **table)
    found = compared(mine, tmp_path / "b")
    assert found.metric == "rmse"
    assert found.positive is None
    assert found.runs[0].pooled == pytest.approx(open_run(mine).summary.metrics.pooled["rmse"])
    gain = found.runs[1].pooled - found.runs[0].pooled  # less error is a gain
    assert found.against[0].gain == pytest.approx(gain)


def over_seeds(folder, **table):
    """Return the comparison of two rules over two seeds, and that of each seed."""
    for seed in (0, 1):
        for name in ("fedavg", "fedmgda+"):
            path = folder / f"{name}_seed={seed}"
            finished_run(path, seed=seed, rule={"name": name}, **table)
    single = [
        compared(folder / f"fedmgda+_seed={s}", folder / f"fedavg_seed={s}", metric="log_loss")
        for s in (0, 1)
    ]
    return compared(folder, metric="log_loss"), single


def test_the_same_users_are_compared_over_all_seeds_together(tmp_path):
    data = write_table(tmp_path / "rows.csv")
    found, single = over_seeds(tmp_path / "all", data=data, model={})
    assert [run.name for run in found.runs] == ["fedmgda+", "fedavg", "constant"]
    assert found.runs[0].seeds == found.against[0].seeds == (0, 1)
    assert not found.against[0].apart
    assert found.clients == ("east", "north", "south", "west")
    for place, client in enumerate(found.against[0].clients):
        each = tuple(one.against[0].clients[place].gain for one in single)
        assert client.by_seed == each
        assert client.gain == pytest.approx(np.mean(each))
    assert found.against[0].losing_by_seed == tuple(one.against[0].losing for one in single)
    assert found.against[0].worse_by_seed == tuple(one.against[0].worse for one in single)
    assert "gain over fedavg seed=1" in comparison_csv(found)


def test_where_the_seed_deals_the_rows_clients_of_two_seeds_are_never_one_user(tmp_path, capsys):
    """Client 1 of seed 0 and client 1 of seed 1 hold other rows: their mean is nobody's."""
    found, single = over_seeds(tmp_path, clients={"per_round": 4})
    other, each = found.against[0], [one.against[0] for one in single]
    assert other.apart
    assert other.clients == tuple(
        replace(client, seed=seed) for seed, one in enumerate(each) for client in one.clients
    )
    for run, *alone in zip(found.runs, *(one.runs for one in single), strict=True):
        assert run.clients == alone[0].clients + alone[1].clients
        assert run.low == pytest.approx(alone[0].low + alone[1].low, nan_ok=True)
        assert run.worst == pytest.approx(np.mean([one.worst for one in alone]))
    for count in ("gaining", "losing", "better", "worse", "known", "worse_by_chance",
                  "losing_by_chance", "worse_by_chance_95", "losing_by_chance_95"):  # fmt: skip
        assert getattr(other, count) == pytest.approx(
            np.mean([getattr(one, count) for one in each])
        ), count
    assert other.losing_by_seed == tuple(one.losing for one in each)
    lines = list(csv.DictReader(io.StringIO(comparison_csv(found))))
    assert [(line["client"], line["seed"]) for line in lines] == [
        (str(client), str(seed)) for seed in (0, 1) for client in range(4)
    ]
    assert not any("seed=" in column for column in lines[0])
    assert " of 4 clients a seed " in f"{found.conclusion} " or "no client" in found.conclusion
    show_comparison(found, "fedmgda compare")
    shown = capsys.readouterr().out
    assert "4 clients in each of 2 seeds" in shown
    assert "(seed 1)" in shown


def test_a_seed_that_only_one_side_has_gives_no_gain(tmp_path):
    for seed in (0, 1):
        finished_run(tmp_path / f"mine_seed={seed}", seed=seed)
    finished_run(tmp_path / "other", seed=1, rule={"name": "fedavg"})
    paths = [tmp_path / name for name in ("mine_seed=0", "mine_seed=1", "other")]
    found = compared(*paths, against="other")
    assert found.against[0].seeds == (1,)
    assert [math.isnan(one.gain) for one in found.against[0].clients] == [True] * 4 + [False] * 4
    assert [math.isnan(value) for value in found.runs[1].clients] == [True] * 4 + [False] * 4
    assert found.against[0].known == 4


def test_seeds_that_test_the_same_rows_are_no_more_rows(runs, monkeypatch):
    """A second seed with the answers of the first made every p smaller."""
    from fedmgda.experiments import _compare  # noqa: PLC0415

    def twice(paths):
        sides, notes = open_sides(paths)
        return [replace(side, seed=seed) for seed in (0, 1) for side in sides], notes

    one = compared(runs, against="alone", metric="log_loss").against[0]
    monkeypatch.setattr(_compare, "open_sides", twice)
    two = compared(runs, against="alone", metric="log_loss").against[0]
    assert two.seeds == (0, 1)
    assert (two.low, two.high) == pytest.approx((one.low, one.high))
    for mine, again in zip(one.clients, two.clients, strict=True):
        assert (mine.p_worse, mine.p_better) == (again.p_worse, again.p_better)
        assert (mine.low, mine.high) == pytest.approx((again.low, again.high), nan_ok=True)


def right(side, count, seed):
    """Return a run whose model is right on so many rows of every client."""
    targets = side.answers.targets
    places = np.array([np.sum(side.clients[:i] == side.clients[i]) for i in range(len(targets))])
    said = np.where(places < count, targets, 1 - targets)
    return replace(side, seed=seed, answers=replace(side.answers, predictions=said))


@pytest.mark.parametrize("turned", [False, True])
def test_a_gain_and_an_equal_loss_over_seeds_make_nobody_lose(runs, monkeypatch, turned):
    """5/6 - 4/6 and 1/6 - 2/6 are a tie, which rounding made a gain, and the other way a loss."""
    from fedmgda.experiments import _compare  # noqa: PLC0415

    def tied(paths):
        sides, notes = open_sides(paths)
        mine, other = sides[::-1] if turned else sides
        return [
            right(side, count, seed)
            for seed, counts in enumerate([(5, 4), (1, 2)])
            for side, count in sorted(zip((mine, other), counts, strict=True),
                                      key=lambda pair: pair[0] is not sides[0])
        ], notes  # fmt: skip

    monkeypatch.setattr(_compare, "open_sides", tied)
    found = compared(runs / "fedmgda+", runs / "alone", against="alone").against[0]
    assert set(found.losing_by_seed) == {0, 4}
    assert (found.gaining, found.losing) == (0, 0)
    assert {client.gain for client in found.clients} == {0.0}


@pytest.mark.parametrize(("rows", "few"), [(240, True), (480, False)])
def test_clients_with_few_rows_have_no_interval(rows, few, tmp_path, capsys):
    table = {"data": write_table(tmp_path / "rows.csv", rows, task="values"), "model": {}}
    for name in ("fedavg", "fedmgda+"):
        finished_run(tmp_path / "all" / name, rule={"name": name}, **table)
    found = compared(tmp_path / "all", against="fedavg")
    assert [count < 10 for count in found.rows] == [few] * 4
    assert [math.isnan(client.low) for client in found.against[0].clients] == [few] * 4
    assert [math.isnan(high) for high in found.runs[0].high] == [few] * 4
    lines = list(csv.DictReader(io.StringIO(comparison_csv(found))))
    assert [line["gain over fedavg low"] == "" for line in lines] == [few] * 4
    told = json.loads(to_json(found))["against"][0]["clients"]
    assert [client["high"] is None for client in told] == [few] * 4
    assert found.against[0].losing > 0
    show_comparison(found, "fedmgda compare")
    assert ("few rows" in capsys.readouterr().out) is few


def test_runs_on_other_rows_or_other_data_are_refused(tmp_path):
    mine = finished_run(tmp_path / "a").path
    finished_run(tmp_path / "b", data={"num_clients": 5})
    with pytest.raises(DataError, match=r"a and .*b were not .* compare runs of one data file"):
        compared(mine, tmp_path / "b")
    finished_run(tmp_path / "c", data={"name": "quadratics"}, model={}, clients={})
    with pytest.raises(DataError, match="were not made from the same data, or it was split"):
        compared(mine, tmp_path / "c")


def test_what_has_nothing_to_compare_is_said(tmp_path):
    with pytest.raises(DataError, match="holds no run"):
        compared(tmp_path)
    mine = finished_run(tmp_path / "runs" / "a").path
    stopped_run(tmp_path / "runs" / "b")
    with pytest.raises(DataError, match=r"b is not finished \(fedmgda resume .* goes on with it\)"):
        compared(mine, tmp_path / "runs" / "b")
    found = compared(tmp_path / "runs")
    assert [other.name for other in found.against] == ["constant"]
    assert "is not finished" in found.notes[0]
    finished_run(tmp_path / "c", records={"predictions": False})
    with pytest.raises(DataError, match="keeps no predictions"):
        compared(mine, tmp_path / "c")


def test_runs_that_kept_no_rows_are_compared_by_what_their_clients_scored(tmp_path):
    seeds = (0, 1)
    for name in ("fedavg", "fedmgda+"):
        for seed in seeds:
            place, records = tmp_path / f"{name}_seed={seed}", {"predictions": False}
            finished_run(place, seed=seed, rule={"name": name}, records=records)
    runs = [tmp_path / f"{name}_seed=0" for name in ("fedmgda+", "fedavg")]
    found = compared(*runs)
    scores = [[c.test_accuracy for c in open_run(path).clients] for path in runs]
    assert found.metric == "accuracy"
    assert [list(run.clients) for run in found.runs] == scores
    gains = np.subtract(*scores)
    assert [client.gain for client in found.against[0].clients] == pytest.approx(gains.tolist())
    assert found.against[0].losing == int((gains < 0).sum())
    assert all(math.isnan(client.p_worse) for client in found.against[0].clients)
    with pytest.raises(SpecError, match="'auc' is not known"):
        compared(*runs, metric="auc")
    with pytest.raises(DataError, match="no run 'other'"):
        compared(*runs, against="other")
    with pytest.raises(DataError, match="nothing to compare"):
        compared(runs[0])
    several = compared(*runs, tmp_path / "fedmgda+_seed=1", tmp_path / "fedavg_seed=1")
    assert several.runs[0].seeds == several.against[0].seeds == seeds
    assert several.against[0].apart
    assert several.runs[0].clients[:4] == tuple(scores[0])
    assert several.against[0].losing == np.mean(several.against[0].losing_by_seed)


def test_without_rows_a_regression_is_compared_by_its_errors_in_units(tmp_path):
    data = write_table(tmp_path / "rows.csv", task="values")
    for kept in (True, False):
        for name in ("fedavg", "fedmgda+"):
            rule, records = {"name": name}, {"predictions": kept}
            finished_run(
                tmp_path / f"{kept}" / name, data=data, model={}, rule=rule, records=records
            )
    by_rows, by_scores = (
        compared(tmp_path / f"{kept}" / "fedmgda+", tmp_path / f"{kept}" / "fedavg")
        for kept in (True, False)
    )
    assert by_scores.metric == by_rows.metric == "rmse"
    for told, known in zip(by_scores.runs, by_rows.runs, strict=False):  # and the constant
        assert told.clients == pytest.approx(known.clients, rel=1e-5)
        assert told.pooled == pytest.approx(known.pooled, rel=1e-5)
    gains = [[client.gain for client in one.against[0].clients] for one in (by_scores, by_rows)]
    assert gains[0] == pytest.approx(gains[1], abs=1e-4)
    assert by_scores.against[0].losing == by_rows.against[0].losing
    assert by_scores.against[0].gain == pytest.approx(by_rows.against[0].gain, abs=1e-4)
    assert "a larger error than under fedavg" in by_scores.conclusion
    with pytest.raises(SpecError, match="'mae' is not known"):
        compared(*(tmp_path / "False" / name for name in ("fedmgda+", "fedavg")), metric="mae")


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [("acuracy", "did you mean 'accuracy'"), ("rmse", "'rmse' is no metric of a classification")],
)
def test_a_metric_that_there_is_not_is_refused(runs, metric, sentence):
    with pytest.raises(SpecError, match=sentence):
        compared(runs, metric=metric)


def test_attackers_do_not_count(tmp_path):
    attack = {"name": "scale-update", "clients": [2]}
    for name in ("fedavg", "fedmgda+"):
        finished_run(tmp_path / name, rule={"name": name}, attack=attack)
    found = compared(tmp_path)
    assert found.rows[2] == 0
    assert np.isnan(found.against[0].clients[2].gain)
    assert min(found.rows[i] for i in (0, 1, 3)) > 0


@pytest.mark.parametrize("predictions", [True, False])
def test_what_an_attack_costs_is_asked_of_clients_that_are_honest_in_both_runs(
    tmp_path, predictions
):
    """It was refused, as if the runs were of other data, for they had other rows."""
    records = {"predictions": predictions}
    attack = {"name": "scale-update", "clients": [2]}
    mine = finished_run(tmp_path / "plain", records=records).path
    other = finished_run(tmp_path / "attacked", records=records, attack=attack).path
    found = compared(mine, other, against="attacked")
    assert [math.isnan(one.gain) for one in found.against[0].clients] == [False, False, True, False]
    if predictions:
        assert math.isnan(found.runs[0].clients[2])
        assert any("attack in attacked are left out" in note for note in found.notes)


def test_runs_of_a_sweep_are_called_by_what_was_swept_and_the_attacked_come_last(tmp_path):
    for rule in ("fedavg", "fedmgda+"):
        for name in ("none", "bias-loss"):
            attack = {} if name == "none" else {"name": name, "clients": [2], "bias": 1.0}
            path = tmp_path / f"rule.name={rule}_attack.name={name}_seed=0"
            finished_run(path, rule={"name": rule}, attack=attack)
    found = compared(tmp_path)
    assert [run.name for run in found.runs[:4]] == [
        f"{rule}_attack={name}" for rule in ("fedmgda+", "fedavg") for name in ("none", "bias-loss")
    ]
    for word in ("fedavg_attack=none", "rule.name=fedavg_attack.name=none"):
        assert [other.name for other in compared(tmp_path, against=word).against] == [
            "fedavg_attack=none"
        ]


def test_keys_whose_last_parts_are_one_are_told_whole(tmp_path):
    for key in ("clients.lr", "server.lr"):
        finished_run(tmp_path / f"{key}=1", rounds=2)
    assert [run.name for run in compared(tmp_path).runs[:2]] == ["clients.lr=1", "server.lr=1"]


def test_table_and_json_say_the_same(runs):
    found = compared(runs)
    rows = list(csv.DictReader(io.StringIO(comparison_csv(found))))
    told = json.loads(to_json(found))
    assert [row["client"] for row in rows] == told["clients"]
    assert [int(row["test_rows"]) for row in rows] == told["rows"]
    alone = next(other for other in told["against"] if other["name"] == "alone")
    for row, client in zip(rows, alone["clients"], strict=True):
        assert float(row["gain over alone"]) == client["gain"]
        assert row["gain over alone beyond_chance"] == (client["beyond_chance"] or "")


def test_comparing_twice_says_the_same(runs):
    assert to_json(compared(runs)) == to_json(compared(runs))


def two_folders(tmp_path, names=("fedavg", "fedmgda+")):
    for folder, rounds in (("bal", 6), ("flights", 4)):
        for name in names:
            finished_run(tmp_path / "runs" / folder / name, rule={"name": name}, rounds=rounds)
    return [tmp_path / "runs" / folder for folder in ("bal", "flights")]


def test_runs_of_several_folders_are_called_by_what_distinguishes_them(tmp_path):
    """The names were whole paths, of which a screen showed the beginning, all alike."""
    paths = two_folders(tmp_path)
    names = ["bal/fedmgda+", "bal/fedavg", "flights/fedmgda+", "flights/fedavg"]
    assert [run.name for run in compared(*paths).runs[:-1]] == names
    some = compared(paths[0], paths[1] / "fedavg").runs
    assert [run.name for run in some[:-1]] == ["fedmgda+", "bal/fedavg", "flights/fedavg"]
    chosen = compared(*paths, against="fedavg").against
    assert [other.name for other in chosen] == ["bal/fedavg", "flights/fedavg"]


def test_a_folder_with_one_seed_and_several_is_compared(tmp_path):
    """Runs without a seed in their names, and with it, made the folder of no use."""
    for name in ("fedavg", "fedmgda+"):
        for suffix, seed in (("", 0), ("_seed=0", 0), ("_seed=10", 10), ("_seed=2", 2)):
            if (name, seed) != ("fedavg", 10):  # as if it were not finished yet
                finished_run(tmp_path / f"{name}{suffix}", seed=seed, rule={"name": name})
    found = compared(tmp_path)
    assert [run.name for run in found.runs] == ["fedmgda+", "fedavg", "constant"]
    assert [run.seeds for run in found.runs[:2]] == [(0, 2, 10), (0, 2)]
    assert found.against[0].seeds == (0, 2)
    assert len(found.notes) == 2
    assert "fedavg_seed=0 is the same run as" in found.notes[1]


def test_one_run_of_several_seeds_against_another_of_one(tmp_path):
    """A second seed of the first run alone was held against the only seed of the other."""
    for seed in (0, 1):
        finished_run(tmp_path / f"fedmgda+_seed={seed}", seed=seed)
    finished_run(tmp_path / "fedavg", rule={"name": "fedavg"})
    assert compared(tmp_path).against[0].seeds == (0,)


def test_another_run_under_the_same_name_keeps_its_seed_in_it(tmp_path):
    finished_run(tmp_path / "fedavg")
    finished_run(tmp_path / "fedavg_seed=0", rounds=4)
    assert [run.name for run in compared(tmp_path).runs] == ["fedavg", "fedavg_seed=0", "constant"]


def test_what_is_not_finished_of_a_comparison_goes_on_with_the_same_command(tmp_path):
    """There was one note for every run, with a command that continues this one alone."""
    finished_run(tmp_path / "fedmgda+")
    stopped_run(tmp_path / "fedavg", rule={"name": "fedavg"})
    stopped_run(tmp_path / "pooled", after=1, baseline="pooled")
    (note,) = compared(tmp_path).notes
    assert "fedavg, pooled are not finished and left out; the same fedmgda run ... --comp" in note
    assert "resume" not in note


def test_runs_of_different_seeds_are_refused_with_what_compares_seeds(tmp_path):
    mine = finished_run(tmp_path / "a").path
    finished_run(tmp_path / "b", seed=1)
    with pytest.raises(DataError, match=r"a has seed 0 and .*b seed 1, .* --compare --seeds 3"):
        compared(mine, tmp_path / "b")


def test_the_verdict_and_the_conclusion_are_in_json(runs):
    told = json.loads(to_json(compared(runs)))
    assert told["verdict"]["headline"] == open_run(runs / "fedmgda+").verdict.headline
    assert "worse off than alone" in told["conclusion"]


def test_the_case_of_a_metric_does_not_matter(runs):
    assert to_json(compared(runs, metric="AUC")) == to_json(compared(runs, metric="auc"))
