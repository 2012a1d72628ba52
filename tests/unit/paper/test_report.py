"""Reports over real runs: a study of three variants on the digits, three rounds, two seeds."""

import csv
import json
import lzma
import math
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from fedmgda._errors import StoreError
from fedmgda.experiments import RoundRow, open_run
from fedmgda.metrics import smoothed
from fedmgda.paper import (
    Setting,
    _published,
    answers_lines,
    export_study,
    fixed_answers_lines,
    load_study,
    plan_study,
    preamble,
    write_report,
)
from fedmgda.paper._collected import read_results
from fedmgda.paper._comparison import compare
from fedmgda.paper._metrics import FIXED, measure
from fedmgda.paper._records import _columns, _of_round
from fedmgda.paper._result import Result, Users, by_cell
from fedmgda.values import Failure
from runs import mark_finished
from tiny import run_tiny

SETTING = Setting(seeds=2)
PROTECTED = {"short", "overridden"}  # what only a protected run has
METRICS = ("average", "std", "worst5", "best5", "avg_data", "honest_average", "improved",
           "improved_final", "training_loss")  # fmt: skip


def make_study():
    """A question about three rules with user 0 malicious, and the row of the paper for one."""
    attack = {"name": "scale-loss", "factor": 5.0, "clients": [0]}
    variants = [
        {"label": "FedAvg", "rule": {"name": "fedavg"}},
        {"label": "FedAvg-n", "rule": {"name": "fedavg-n"}},
        {"label": "FedMGDA+", "rule": {"name": "fedmgda+"}},
    ]
    sweep = {
        "rounds": 3,
        "data": {"name": "digits", "num_clients": 5},
        "clients": {"per_round": 3},
        "evaluation": {"every": 2},
        "attack": attack,
        "sweep": {"seeds": [1, 2], "variants": variants},
    }
    return replace(
        load_study("fmnist-rules"), sweep=sweep, metrics=METRICS, figures=(),
        pairs=(("FedMGDA+", "FedAvg-n"), ("FedMGDA+", "FedAvg")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def study():
    return make_study()


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    path = tmp_path_factory.mktemp("study")
    run_tiny(study, SETTING, path)
    return path


@pytest.fixture(scope="module")
def finished(study, folder):
    return read_results(plan_study(study, SETTING), folder)


def test_metrics_are_those_of_the_run_summary(folder, finished):
    for result in finished:
        summary = open_run(folder / result.run.folder_name).summary
        everyone, honest = summary.all_users.accuracy, summary.honest.accuracy
        expected = {
            "average": 100 * everyone["average"],
            "avg_client": 100 * everyone["average"],
            "std": 100 * everyone["std"],
            "worst5": 100 * everyone["percentile_5"],
            "best5": 100 * everyone["percentile_95"],
            "avg_data": 100 * everyone["average_weighted"],
            "uniform": 100 * everyone["average_weighted"],
            "honest_average": 100 * honest["average"],
            "honest_std": 100 * honest["std"],
            "honest_worst5": 100 * honest["percentile_5"],
            "improved": summary.improved,
        }
        for metric, value in expected.items():
            assert measure(result, metric, 50) == pytest.approx(value), metric


def test_the_domains_of_adult_are_the_first_two_clients(finished):
    accuracies = finished[0].users.accuracies
    assert measure(finished[0], "phd", 50) == 100 * accuracies[0]
    assert measure(finished[0], "non_phd", 50) == 100 * accuracies[1]


def test_measures_of_the_last_rounds_are_ends_of_smoothed_curves(folder, finished):
    rounds = open_run(folder / finished[0].run.folder_name).rounds
    improved = smoothed([row.improved for row in rounds], 50)[-1]
    losses = smoothed([np.mean(row.local_losses) for row in rounds], 50)[-1]
    assert measure(finished[0], "improved_final", 50) == pytest.approx(improved)
    assert measure(finished[0], "training_loss", 50) == pytest.approx(losses)


def test_late_and_curve_means_are_those_of_the_evaluations_of_honest_users(folder, finished):
    for result in finished:
        found = open_run(folder / result.run.folder_name)
        rows = [row.honest.accuracy for row in found.evaluations]
        assert len(rows) == 3, "fewer than ten: the late mean is over all there are"
        for metric, name in (
            ("late_average", "average"), ("curve_average", "average"), ("late_std", "std"),
            ("late_worst5", "percentile_5"),
        ):  # fmt: skip
            expected = 100 * np.mean([row[name] for row in rows])
            assert measure(result, metric, 50) == pytest.approx(expected), metric


def made_up(rounds=(), averages=(), malicious=()):
    """The rounds and evaluations of a run, made up."""
    nobody = np.zeros(0)
    return Result(
        run=None, done=True,
        rounds=_columns([_of_round(row, frozenset(malicious)) for row in rounds]),
        evaluations={"round": np.arange(len(averages)), "honest_average": np.array(averages)},
        users=Users(clients=(), accuracies=nobody, losses=nobody, num_examples=nobody),
    )  # fmt: skip


def round_row(norm, **options):
    return RoundRow(round_num=1, client_ids=(), server_lr=0.5, quarantined=(), norm=norm, **options)


def test_a_late_mean_is_over_the_last_ten_evaluations_and_a_curve_mean_over_all():
    result = made_up(averages=[0.0, *[0.5] * 10])
    assert measure(result, "late_average", 50) == pytest.approx(50.0)
    assert measure(result, "curve_average", 50) == pytest.approx(100 * 5 / 11)


def test_rounds_without_a_step_are_told_from_those_with_one():
    rows = [
        round_row(0.4, improved=50.0),
        round_row(1e-4, improved=100.0),
        round_row(0.4, improved=100.0, held=True),
        round_row(None, improved=100.0, failed="nobody is left"),
    ]
    result = made_up(rows)
    shares = {
        m: measure(result, m, 50) for m in ("improved", "improved_stepped", "stepped", "held")
    }
    assert shares == {"improved": 87.5, "improved_stepped": 50.0, "stepped": 25.0, "held": 25.0}
    assert measure(result, "path", 50) == pytest.approx(0.2 + 5e-5)


def test_the_attacker_in_quarantine_is_told_from_others_there():
    out = [Failure(client_id=client, reason="NaN") for client in (0, 7)]
    rows = [replace(round_row(1.0), quarantined=tuple(out[:k])) for k in (0, 1, 2)]
    other = replace(round_row(1.0), quarantined=(out[1],))
    result = made_up([*rows, other], malicious=[0])
    assert measure(result, "quarantined", 50) == 75.0
    assert measure(result, "attackers_quarantined", 50) == 50.0
    assert math.isnan(measure(made_up(rows), "attackers_quarantined", 50))


def test_what_was_fixed_has_files_of_its_own_and_leaves_the_others_as_they_were(study, folder):
    report = write_report(study, SETTING, folder)
    assert {line.metric for line in report.fixed} == set(FIXED) - PROTECTED
    rows = list(csv.DictReader((folder / "fmnist-rules-fixed.csv").read_text().splitlines()))
    assert len(rows) == 3 * 2 * (len(FIXED) - len(PROTECTED))
    found = {(r["row"], r["metric"], int(r["seed"])): float(r["value"]) for r in rows}
    for line in report.fixed:
        for seed, value in line.values.items():
            assert found[line.cell["variant"], line.metric, seed] == value
    old = (folder / "fmnist-rules.csv").read_text() + (
        folder / "fmnist-rules-differences.csv"
    ).read_text()
    assert "late_average" not in old


def test_shares_that_are_zero_in_every_run_are_no_difference_worth_saying(study, folder):
    report = write_report(study, SETTING, folder)
    texts = fixed_answers_lines(report.fixed_answers)
    assert len(report.fixed_answers) == 2 * (len(FIXED) - len(PROTECTED))
    assert any(": late_average " in text for text in texts)
    assert not any(": held " in text for text in texts)


def test_what_nothing_measured_is_left_out(study, tmp_path):
    honest = {key: value for key, value in study.sweep.items() if key != "attack"}
    sweep = {**honest, "evaluation": {"every": 2, "improved": False}}
    silent = replace(study, sweep=sweep, metrics=("average",))
    setting = Setting(seeds=1, rows=("FedAvg",))
    run_tiny(silent, setting, tmp_path)
    found = {line.metric for line in write_report(silent, setting, tmp_path).fixed}
    missing = {"improved", "improved_stepped", "attackers_quarantined"}
    assert set(FIXED) - found == missing | PROTECTED


def test_a_line_has_the_mean_and_the_population_std_over_seeds(study, finished):
    for line in compare(study, SETTING, finished):
        group = [r for r in finished if r.cell == line.cell]
        values = [measure(r, line.metric, study.span) for r in group]
        assert line.values == dict(zip((1, 2), values, strict=True))
        assert (line.mean, line.std) == (np.mean(values), np.std(values))


def published(study, **options):
    """The same study, with FedAvg standing for its row of cifar-user-1 (70.11 ± 1.27, 2000)."""
    rows = {"FedAvg": 12}
    return replace(study, published="cifar_user_1.csv", rows=rows, **options)


def verdicts(study, setting, results):
    return {
        line.metric: line.verdict
        for line in compare(study, setting, results)
        if line.cell["variant"] == "FedAvg"
    }


def test_other_rounds_are_not_comparable(study, finished):
    verdict = verdicts(published(study), SETTING, finished)["average"]
    assert verdict.word == "not comparable"
    assert verdict.reason == "published after 2000 rounds, ours after 3"


def test_changed_settings_are_not_comparable(study, finished):
    changed = replace(SETTING, changes=("clients.client_lr=0.1",))
    assert "clients.client_lr=0.1" in verdicts(published(study), changed, finished)["std"].reason


@pytest.fixture
def same_rounds(monkeypatch):
    """Let the paper's table be about three rounds, so that the rule itself decides."""
    table = {
        row: {**cells, "rounds": "3"}
        for row, cells in _published._table("cifar_user_1.csv").items()
    }
    monkeypatch.setattr(_published, "_table", lambda _: table)


@pytest.mark.usefixtures("same_rounds")
def test_the_rule_decides_where_settings_match(study, finished):
    found = verdicts(published(study, users=5), SETTING, finished)
    average = np.mean([measure(r, "average", 50) for r in finished[:2]])
    near = abs(average - 70.11) <= 2.6 + 1.27
    assert found["average"].word == ("agrees" if near else "differs")
    assert found["improved"].word == "not comparable"


@pytest.mark.usefixtures("same_rounds")
def test_a_key_that_moves_no_number_leaves_the_verdict_to_the_rule(study, finished):
    silent = replace(SETTING, changes=("evaluation.improved_every=2", "engine.workers=1"))
    verdict = verdicts(published(study), silent, finished)["average"]
    assert verdict == verdicts(published(study), SETTING, finished)["average"]
    assert verdict.reason == ""


@pytest.mark.usefixtures("same_rounds")
def test_other_users_and_other_test_sets_are_not_comparable(study, finished):
    other = verdicts(published(study, users=100), SETTING, finished)
    assert other["average"].reason == "published over 100 users, ours has 5"
    excluded = published(study, users=5, incomparable={"paper": {"std": "one class each"}})
    found = verdicts(excluded, SETTING, finished)
    assert found["std"].reason == "one class each"
    assert found["average"].word != "not comparable"
    released = replace(SETTING, compat="released-code")
    assert verdicts(excluded, released, finished)["std"].word != "not comparable"


def test_differences_are_paired_by_seed(study, folder):
    report = write_report(study, SETTING, folder)
    assert len(report.answers) == 2 * len(METRICS)
    lines = {(line.cell["variant"], line.metric): line.values for line in report.lines}
    for answer in report.answers:
        first, second = lines[answer.first, answer.metric], lines[answer.second, answer.metric]
        assert answer.difference.n == 2
        assert answer.difference.mean == pytest.approx(
            np.mean([first[s] - second[s] for s in (1, 2)])
        )
    assert answers_lines(report.answers)[0].startswith("FedMGDA+ minus FedAvg-n: average ")


def test_the_same_runs_give_the_same_report(study, folder):
    once = {file.name: file.read_bytes() for file in write_report(study, SETTING, folder).files}
    again = {file.name: file.read_bytes() for file in write_report(study, SETTING, folder).files}
    assert once == again
    assert set(once) == {
        "fmnist-rules.csv", "fmnist-rules.md", "fmnist-rules-differences.csv",
        "fmnist-rules-fixed.csv", "fmnist-rules-fixed-differences.csv",
    }  # fmt: skip


def test_the_table_has_full_precision_and_every_reason(study, folder):
    report = write_report(published(study), SETTING, folder)
    rows = list(csv.DictReader(report.files[0].read_text().splitlines()))
    assert len(rows) == len(report.lines)
    for row, line in zip(rows, report.lines, strict=True):
        assert float(row["mean"]) == line.mean
        assert (row["verdict"], row["reason"]) == (line.verdict.word, line.verdict.reason)
    page = report.files[1].read_text()
    assert "70.11 ± 1.27" in page
    assert "Not comparable: published after 2000 rounds, ours after 3." in page


def test_other_rounds_than_the_studys_are_said_with_what_they_do_to_the_decay(study, tmp_path):
    setting = Setting(seeds=1, rounds=2)
    run_tiny(study, setting, tmp_path)
    page = write_report(study, setting, tmp_path).files[1].read_text()
    assert "The study has 3 rounds: --rounds 2 also shortens or stretches the decay" in page


def test_a_folder_without_runs_is_refused_with_the_command(study, tmp_path):
    command = f"run it with: fedmgda reproduce fmnist-rules --seeds 2 --out {tmp_path}"
    with pytest.raises(StoreError, match=re.escape(command)):
        write_report(study, SETTING, tmp_path)


@pytest.mark.parametrize("compat", ["paper", "released-code"])
@pytest.mark.parametrize(("rounds", "every"), [(1, 2), (4, 2), (5, 2), (5, 7)])
def test_a_whole_run_is_taken_for_whole(study, compat, rounds, every, tmp_path):
    setting = Setting(
        compat=compat, seeds=1, rounds=rounds, rows=("FedAvg",),
        changes=(f"evaluation.every={every}",),
    )  # fmt: skip
    run_tiny(study, setting, tmp_path)
    (result,) = read_results(plan_study(study, setting), tmp_path)
    assert result.done
    assert result.of_rounds("round").tolist() == list(range(1, rounds + 1))
    assert result.evaluated[0] == 0


@pytest.mark.parametrize("name", ["evaluations", "rounds"])
@pytest.mark.parametrize("kept", [0, 2, None])
def test_a_finished_run_whose_records_were_cut_is_refused(study, folder, name, kept, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    run = plan_study(study, SETTING)[3]
    file = tmp_path / run.folder_name / f"{name}.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.unlink() if kept is None else file.write_bytes(b"".join(lines[:kept]))
    sentence = (
        f"{tmp_path / run.folder_name} is marked as finished by DONE, but lines of its {name}"
    )
    with pytest.raises(StoreError, match=re.escape(sentence)):
        write_report(study, SETTING, tmp_path)
    shutil.rmtree(file.parent)  # what the sentence says to do
    assert len(run_tiny(study, SETTING, tmp_path)) == 1
    assert write_report(study, SETTING, tmp_path).planned == 6


def test_runs_of_another_setting_are_refused(study, folder):
    with pytest.raises(StoreError, match="holds a run of another spec"):
        write_report(study, replace(SETTING, rounds=4), folder)


def copy_unfinished(study, folder, target):
    for run in plan_study(study, SETTING):
        copy = target / run.folder_name
        copy.mkdir(parents=True)
        for file in (folder / run.folder_name).glob("*.*"):
            (copy / file.name).write_bytes(file.read_bytes())


def test_an_unfinished_row_is_shown_as_far_as_it_came_and_not_compared(study, folder, tmp_path):
    copy_unfinished(study, folder, tmp_path)
    for run in plan_study(study, SETTING):
        if run.cell["variant"] != "FedAvg":
            mark_finished(tmp_path / run.folder_name)
    results = read_results(plan_study(study, SETTING), tmp_path)
    groups = {dict(cell)["variant"]: group for cell, group in by_cell(results).items()}
    assert [r.done for r in groups["FedAvg"]] == [False, False]
    mark_finished(tmp_path / groups["FedAvg"][1].run.folder_name)
    results = read_results(plan_study(study, SETTING), tmp_path)
    assert [r.run.seed for r in by_cell(results)[("variant", "FedAvg"),]] == [2]


def test_a_row_with_fewer_seeds_than_asked_for_is_named(study, folder, tmp_path):
    copy_unfinished(study, folder, tmp_path)
    for run in plan_study(study, SETTING):
        if (run.cell["variant"], run.seed) != ("FedAvg", 2):
            mark_finished(tmp_path / run.folder_name)
    lines = write_report(study, SETTING, tmp_path).lines
    (named,) = [text for text in preamble(study, SETTING, lines) if "asked for" in text]
    assert "Fewer have results in FedAvg (1): " in named
    whole = write_report(study, SETTING, folder).lines
    assert not any("asked for" in text for text in preamble(study, SETTING, whole))


def test_what_is_published_is_small_whole_and_always_the_same(study, folder, tmp_path):
    # The spec that is copied is the one of the package, whatever a test made of the study.
    report = write_report(study, SETTING, folder)
    files = export_study(study, SETTING, report, tmp_path / "one")
    again = export_study(study, SETTING, report, tmp_path / "two")
    assert [f.read_bytes() for f in files] == [f.read_bytes() for f in again]
    names = {str(f.relative_to(tmp_path / "one")) for f in files}
    assert {"spec.toml", "setting.json", "environment.json", "fmnist-rules.csv"} <= names
    facts = json.loads((tmp_path / "one" / "setting.json").read_bytes())
    assert (facts["seeds"], facts["runs_finished"], facts["runs_planned"]) == ([1, 2], 6, 6)
    assert "seed" not in json.loads((tmp_path / "one" / "environment.json").read_bytes())[0]


def test_unfinished_runs_are_published_only_where_none_is_finished(study, folder, tmp_path):
    copy_unfinished(study, folder, tmp_path / "runs")
    (run, *_) = plan_study(study, SETTING)

    def published_runs():
        report = write_report(study, SETTING, tmp_path / "runs")
        files = export_study(study, SETTING, report, tmp_path / "kept")
        facts = json.loads((tmp_path / "kept" / "setting.json").read_bytes())
        return facts["runs_finished"], sum(file.suffix == ".xz" for file in files)

    assert published_runs() == (0, 6)
    mark_finished(tmp_path / "runs" / run.folder_name)
    assert published_runs() == (1, 1)


def test_a_published_run_has_every_round_evaluation_and_user(study, folder, finished, tmp_path):
    export_study(study, SETTING, write_report(study, SETTING, folder), tmp_path)
    for result in finished:
        packed = (tmp_path / "runs" / f"{result.run.folder_name}.json.xz").read_bytes()
        kept = json.loads(lzma.decompress(packed))
        rounds, evaluations = kept["rounds"], kept["evaluations"]
        assert rounds["round"] == [1, 2, 3]
        found = open_run(folder / result.run.folder_name)
        improved = [row.improved for row in found.rounds]
        assert rounds["improved"] == pytest.approx(improved, rel=1e-4)
        weights = [max(row.lam) for row in found.rounds]
        assert rounds["max_lam"] == pytest.approx(weights, rel=1e-4)
        losses = [np.mean(row.local_losses) for row in found.rounds]
        assert rounds["mean_local_losses"] == pytest.approx(losses, rel=1e-4)
        assert evaluations["round"] == [0, 2, 3]
        average = measure(result, "honest_average", 50)
        assert 100 * evaluations["honest_average"][-1] == pytest.approx(average, rel=1e-4)
        accuracies = found.evaluations[-1].accuracies
        assert kept["users"]["accuracies"] == pytest.approx(accuracies, rel=1e-4)
        assert rounds["failed"] == rounds["quarantined"] == [0, 0, 0]
        assert kept["commit"] == found.environment.commit
