"""The promise is counted from the records of real runs, and a broken one is found."""

from dataclasses import replace

import numpy as np
import pytest

from fedmgda.experiments import open_run
from fedmgda.paper import (
    Setting,
    line_cells,
    load_study,
    plan_study,
    promises_lines,
    write_report,
)
from fedmgda.paper._collected import read_results
from fedmgda.paper._metrics import measure
from fedmgda.paper._promise import promises
from fedmgda.paper._records import _columns, _of_losses, _of_round
from tiny import run_tiny

SETTING = Setting(seeds=2)


@pytest.fixture(scope="module")
def study():
    """FedAvg plain and protected on the digits, eight rounds."""
    variants = [
        {"label": "FedAvg", "rule": {"name": "fedavg"}},
        {"label": "FedAvg protected", "rule": {"name": "fedavg"}, "server": {"protect": True}},
    ]
    sweep = {
        "rounds": 8,
        "data": {"name": "digits", "num_clients": 5},
        "clients": {"per_round": 3, "batch_size": 10, "client_lr": 0.1},
        "evaluation": {"every": 2},
        "sweep": {"seeds": [1, 2], "variants": variants},
    }
    return replace(
        load_study("protected-digits"), sweep=sweep, metrics=("average",), figures=(), longer=(),
        pairs=(("FedAvg protected", "FedAvg"),),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    path = tmp_path_factory.mktemp("promise")
    run_tiny(study, SETTING, path)
    return path


@pytest.fixture(scope="module")
def finished(study, folder):
    return read_results(plan_study(study, SETTING), folder)


def of(finished, variant):
    return [result for result in finished if result.cell["variant"] == variant]


def rows_of(folder, result):
    return open_run(folder / result.run.folder_name).rounds


def test_every_loss_of_every_round_is_counted_and_none_rose(study, folder, finished):
    (promise,) = promises(study, finished)
    results = of(finished, "FedAvg protected")
    rows = [row for result in results for row in rows_of(folder, result)]
    assert (promise.row, promise.runs, promise.rounds) == ("FedAvg protected", 2, len(rows))
    assert promise.losses == sum(len(row.client_ids) for row in rows if not row.held) > 0
    assert promise.rose == 0
    for row in rows:
        assert row.held or np.all(row.losses_after <= row.losses_before)


def test_the_path_is_that_of_the_steps_really_made_over_that_of_the_plain_rule(
    study, folder, finished
):
    (promise,) = promises(study, finished)
    plain = {r.run.seed: measure(r, "path", 50) for r in of(finished, "FedAvg")}
    made = {
        r.run.seed: sum(row.protection.moved_norm for row in rows_of(folder, r))
        for r in of(finished, "FedAvg protected")
    }
    assert promise.plain == "FedAvg"
    assert promise.path == pytest.approx(100 * np.mean([made[s] / plain[s] for s in (1, 2)]))
    for result in of(finished, "FedAvg"):
        lengths = [row.server_lr * row.norm for row in rows_of(folder, result)]
        assert result.of_rounds("moved") == pytest.approx(lengths)


def test_a_loss_that_rose_is_found_and_only_that_of_an_honest_participant(folder, finished):
    result = of(finished, "FedAvg protected")[0]
    row = next(row for row in rows_of(folder, result) if not row.held)
    after = row.protection.after.copy()
    after[1] = np.nextafter(row.protection.before[1], np.inf)
    broken = replace(row, protection=replace(row.protection, after=after))
    assert _of_losses(row, frozenset()) == {"losses": 3, "rose": 0}
    assert _of_losses(broken, frozenset()) == {"losses": 3, "rose": 1}
    after[1] = np.nan
    assert _of_losses(broken, frozenset()) == {"losses": 3, "rose": 1}
    assert _of_losses(broken, frozenset({row.client_ids[1]})) == {"losses": 2, "rose": 0}


def test_a_step_below_a_sixteenth_and_a_held_round_are_told_apart(folder, finished):
    result = of(finished, "FedAvg protected")[0]
    row = next(row for row in rows_of(folder, result) if not row.held)
    made = row.protection
    rows = (
        row,
        replace(row, protection=replace(made, scale=1 / 16)),
        replace(row, protection=replace(made, scale=1 / 32, overridden=(row.client_ids[0],))),
        replace(row, held=True, protection=replace(made, scale=None, after=None)),
    )
    changed = replace(result, rounds=_columns([_of_round(one, frozenset()) for one in rows]))
    assert measure(changed, "short", 50) == 25.0
    assert measure(changed, "held", 50) == 25.0
    assert measure(changed, "overridden", 50) == pytest.approx(100 / 12)


def test_the_promise_stands_in_the_report_and_in_a_file(study, folder):
    report = write_report(study, SETTING, folder)
    (text,) = promises_lines(report.promises)
    assert f"of {report.promises[0].losses} losses" in text
    assert ", 0 rose;" in text
    page = (folder / "protected-digits.md").read_text()
    assert f"| FedAvg protected | {report.promises[0].losses} in 16 rounds of 2 runs | 0 |" in page
    assert (folder / "protected-digits-promise.csv").read_text().count("\n") == 2


def test_runs_without_protection_promise_nothing(study, finished):
    assert promises(study, of(finished, "FedAvg")) == []


def test_a_plain_row_did_not_diverge_because_it_has_no_cone(study, folder):
    fixed = write_report(study, SETTING, folder).fixed
    shown = {line_cells(study, line)[1] for line in fixed if line.cell["variant"] == "FedAvg"}
    assert "-" in shown
    assert "diverged" not in shown
