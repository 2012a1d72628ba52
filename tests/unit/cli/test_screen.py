"""What a terminal of 80 x 24 shows of a run: nothing scrolls away, nothing breaks mid-word."""

import csv
import io
import json
import re

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from conflicts import table_of
from fedmgda.cli._header import header
from fedmgda.cli._progress import watch_run
from fedmgda.cli._screen import screen, wrapped
from fedmgda.cli._tables import rows_table
from fedmgda.experiments import COLUMNS, Row, RunFolder, execute, open_run
from runs import finished_run, small_spec

WIDTH, HEIGHT = 80, 24


def console():
    return Console(width=WIDTH, file=io.StringIO(), color_system=None)


def shown(parts):
    to = console()
    for part in parts:
        to.print(part)
    return [line.rstrip() for line in to.file.getvalue().splitlines()]


def run_of(folder, table, **clients):
    data = {"path": str(table), "client": "branch", "target": "value"}
    spec = small_spec(rounds=5, data=data, model={}, clients={"participation": 1.0} | clients)
    steps = list(execute(RunFolder.create(folder, spec)))
    return open_run(folder), steps[0]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screen")
    return run_of(folder / "run", table_of(folder / "visits.csv", clients=90))


@pytest.fixture(scope="module")
def diverged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diverged")
    table = table_of(folder / "visits.csv", clients=8, rows=60, agreement=1.0)
    data = {"path": str(table), "client": "branch", "target": "value"}
    spec = small_spec(
        rounds=8, data=data, model={}, rule={"name": "fedavg"},
        clients={"participation": 1.0, "client_lr": 3.0, "batch_size": 10},
    )  # fmt: skip
    for _ in execute(RunFolder.create(folder / "run", spec)):
        pass
    return open_run(folder / "run")


def test_everything_fits_one_screen_with_the_verdict_last(many):
    run, _ = many
    lines = shown(screen(run, console()))
    assert len(lines) <= HEIGHT
    assert all(cell_len(line) <= WIDTH for line in lines)
    assert re.fullmatch(r"Largest test losses, (10|9|8) of 90 clients", lines[0])
    text = " ".join(line.strip() for line in lines)
    assert "clients.csv has every client" in text  # on one line or two, as long as the path is
    assert text.endswith(run.verdict.headline)
    for word in run.verdict.headline.split():
        assert word in text


def test_a_diverged_run_says_so_in_its_last_sentence_and_in_its_summary(diverged):
    lines = shown(screen(diverged, console()))
    assert len(lines) <= HEIGHT
    assert "It diverged: test loss " in " ".join(lines[-4:])
    assert "-c clients.client_lr=" in " ".join(lines[-4:])
    summary = json.loads((diverged.path / "summary.json").read_text())
    assert summary["verdict"]["outcome"] == "diverged"


def test_clients_of_one_row_are_not_shown_as_a_percentage(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "classes.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["branch", "age", "value"])
        for client in range(12):
            for _ in range(10):
                age = rng.normal()
                writer.writerow([f"支店{client}" * 9, round(age, 4), "yes" if age > 0 else "no"])
    run, _ = run_of(tmp_path / "run", path)
    lines = shown(screen(run, console()))
    assert any(" of 1 " in line and "…" in line for line in lines)
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("After round"))]
    assert not any(re.search(r"(?<!to )100 %", line) for line in table)
    assert all(cell_len(line) <= WIDTH for line in lines)
    assert len(lines) <= HEIGHT


def test_a_hint_is_never_torn_from_its_option():
    to = console()
    for start in range(60, 80):
        text = wrapped("x" * start + " -c clients.client_lr=0.01 is better.", to).plain
        assert "-c clients.client_lr=0.01" in text
        assert "\n" in text


def test_the_header_is_ten_lines_at_most_and_names_what_matters(many):
    run, first = many
    lines = shown([header(run, first)])
    assert len(lines) <= 10
    text = " ".join(" ".join(lines).split())
    for part in ("90 clients", "990 rows to train", "180 to test", "4 parameters", "fedmgda+"):
        assert part in text
    assert f"{run.path}"[:20] in text.replace(" ", "")


def test_a_baseline_says_what_it_trains_and_what_is_counted(tmp_path, capsys, monkeypatch):
    data = {"path": str(table_of(tmp_path / "visits.csv", clients=8)), "client": "branch"}
    for baseline, unit, said in (
        ("alone", "client", "2 for each client by itself, one client after the other, seed 0"),
        ("pooled", "round", "2, tested every 1, seed 0"),
    ):
        spec = small_spec(
            rounds=8, data=data | {"target": "value"}, model={}, baseline=baseline,
            clients={"per_round": 2},
        )  # fmt: skip
        folder = RunFolder.create(tmp_path / baseline, spec)
        steps = list(execute(folder))
        assert {step.unit for step in steps} == {unit}
        lines = shown([header(open_run(folder.path), steps[0])])
        assert said in " ".join(" ".join(lines).split())
        monkeypatch.setattr("fedmgda.cli._progress._EVERY", -1.0)
        watch_run((step for step in steps), quiet=False)
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith(f"{unit} {steps[-1].round_num} of {steps[-1].rounds}: ")


@pytest.mark.parametrize("many", [False, True])
def test_protection_is_in_the_header_the_progress_and_the_last_lines(
    tmp_path, capsys, monkeypatch, many
):
    data = {"path": str(table_of(tmp_path / "visits.csv", clients=90)), "client": "branch"}
    spec = small_spec(
        rounds=30, data=data | {"target": "value"}, model={}, rule={"name": "fedavg"},
        server={"protect": {"patience": 5}}, clients={"per_round": 90 if many else 3},
    )  # fmt: skip
    folder = RunFolder.create(tmp_path / "run", spec)
    steps = list(execute(folder))
    run = open_run(folder.path)
    lines = shown([header(run, steps[0])])
    assert len(lines) <= 10
    assert any(line.startswith("protect") for line in lines)
    monkeypatch.setattr("fedmgda.cli._progress._EVERY", -1.0)
    watch_run((step for step in steps), quiet=False)
    held = run.summary.protection.rounds_held
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"held {held}")
    lines = shown(screen(run, console()))
    text = " ".join(" ".join(lines).split())
    assert len(lines) <= HEIGHT
    assert all(cell_len(line) <= WIDTH for line in lines)
    assert f"In every one of {len(run.rounds)} rounds no participant ended with a higher" in text
    assert "it does not add up over rounds" in text
    assert (f"It stood still: {held} of {len(run.rounds)} rounds were held" in text) == many
    assert ("the run ended as stationary" in text) == many
    assert ("in a row were held" in text) == many


def test_a_run_that_a_veto_stopped_names_it_and_claims_no_improvement(tmp_path):
    run = open_run(
        finished_run(
            tmp_path / "run", rounds=30, server={"protect": {"patience": 4}},
            attack={"name": "veto", "clients": [2]},
        ).path
    )  # fmt: skip
    assert run.finished
    assert not run.verdict.good
    lines = shown(screen(run, console()))
    assert len(lines) <= HEIGHT
    text = " ".join(" ".join(lines).split())
    assert "Participants improved, as measured: 100.0 % (no step was made)." in text
    assert "The run ended after round 4 of 30: stationary, 4 rounds in a row were held." in text
    assert (
        "It stood still: 4 of 4 rounds were held, as by what was said the training loss of" in text
    )
    assert "client 2 rose at every length tried. Let 1 be overridden" in text
    assert "(-c server.protect.allow=1), take another server step" in text


def test_a_table_with_held_rounds_leaves_columns_out_before_it_cuts_numbers(monkeypatch):
    columns = (*COLUMNS, "improved with step %", "held %", "overridden %")
    numbers = dict.fromkeys(columns, 99.95)
    rows = [
        Row(cell={"variant": name}, runs=2, means=numbers, stds=numbers)
        for name in ("FedAvg", "FedAvg, protected")
    ]
    to = console()
    monkeypatch.setattr("fedmgda.cli._tables.out", to)
    lines = shown([rows_table(rows)])
    assert not [line for line in lines if "…" in line or cell_len(line) > WIDTH]
    for needed in ("average %", "improved %", "held %", "overridden %"):
        assert needed in lines[0]


def test_worst_5_percent_means_the_same_on_the_screen_and_in_the_summary(tmp_path):
    run = open_run(finished_run(tmp_path / "run").path)
    written = json.loads((run.path / "summary.json").read_text())["honest"]["accuracy"]
    assert not [key for key in written if "worst" in key and "5_percent" in key]
    lines = shown(screen(run, console()))
    head = next(i for i, line in enumerate(lines) if "worst 5 %" in line)
    start = lines[head].index("worst 5 %")
    row = next(line for line in lines[head:] if "accuracy" in line)
    assert row[start : start + 9].strip() == f"{100 * written['percentile_5']:.1f} %"


def test_a_folder_with_a_long_name_takes_its_lines_from_the_least_important(tmp_path):
    long = tmp_path / "a-folder-with-a-long-name" / ("deep-" * 30) / ("deeper-" * 20)
    run, _ = run_of(long / "run", table_of(tmp_path / "rows.csv", clients=90))
    lines = shown(screen(run, console()))
    assert len(lines) <= HEIGHT
    assert "".join(lines).replace(" ", "").count(str(long / "run")) == 1
