import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from fedmgda import open_run, verify

TESTS = Path(__file__).parents[2]
APP = TESTS.parent / "examples" / "flower-app"
BYTES = ("rounds.jsonl", "evaluations.jsonl", "model.safetensors", "summary.json")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """What strategies made of somebody's app on Ray, in a process of its own."""
    folder = tmp_path_factory.mktemp("foreign")
    paths = [str(APP), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(TESTS / "foreign_app.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_an_app_works_unchanged_with_fedmgda_plus(records):
    run = open_run(records / "plus")
    assert run.finished
    assert all(row.client_ids == (0, 1, 2, 3) for row in run.rounds)
    losses = [row.honest.loss["average"] for row in run.evaluations]
    assert losses[-1] < losses[0]
    assert verify(records / "plus").verified


def test_its_running_means_are_buffers_and_its_counters_stay(records):
    arrays = open_run(records / "plus").model_arrays()
    assert arrays["layers.1.num_batches_tracked"] == 0
    assert arrays["layers.1.running_mean"].any()


def test_a_rule_that_reads_losses_says_which_lines_are_missing(records):
    refused = json.loads((records / "report.json").read_text())["refused"]
    assert "three lines" in refused


def test_with_the_three_lines_q_fedavg_works(records):
    run = open_run(records / "q")
    assert run.finished
    assert all((row.losses_before > 0.0).all() for row in run.rounds)
    assert verify(records / "q").verified


def test_two_of_four_are_the_same_two_in_every_run(records):
    for name in BYTES:
        assert (records / "a" / name).read_bytes() == (records / "b" / name).read_bytes()
    assert len({row.client_ids for row in open_run(records / "a").rounds}) > 1
    assert verify(records / "a").verified


@pytest.mark.slow
def test_the_command_of_its_readme(tmp_path):
    home, record = tmp_path / "home", tmp_path / "record"
    environment = {**os.environ, "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0"}
    order = ["--federation-config", "num-supernodes=4", "-c", f'record="{record}"']
    try:
        done = subprocess.run(
            ["flwr", "run", str(APP), "--stream", *order],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        for process in psutil.process_iter():  # the SuperLink that Flower leaves running
            with suppress(psutil.Error):
                if process.environ().get("FLWR_HOME") == str(home):
                    process.kill()
    assert done.returncode == 0, done.stderr[-3000:]
    assert open_run(record).finished
    assert verify(record).verified
