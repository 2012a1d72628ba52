"""kill -9 at random moments: what is left is resumed to the same bytes."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from fedmgda.experiments import RunFolder, Spec, demo_table, parse, resolve
from runs import carry_on, results

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["fedmgda.experiments", "fedmgda.clients"])


def demo_spec(workers=1, checkpoint_seconds=0.0):
    table = {key: value for key, value in demo_table().items() if key != "sweep"}
    table["engine"] = {"workers": workers, "checkpoint_seconds": checkpoint_seconds}
    table["rule"] = {"name": "fedmgda+"}
    table["server"] = {"decay": 0.1}
    return resolve(parse(Spec, table))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    RunFolder.create(path, demo_spec())
    started = time.monotonic()
    carry_on(path)
    return results(path), time.monotonic() - started


def test_twenty_kills_change_no_byte(whole, tmp_path):
    expected, seconds = whole
    rng = random.Random(20)  # noqa: S311 (moments to kill at, not secrets)
    RunFolder.create(tmp_path, demo_spec())
    kills, reached = 0, []
    while not (tmp_path / "DONE").exists():
        process = CONTEXT.Process(target=carry_on, args=(tmp_path,))
        process.start()
        if kills < 20:
            # Early kills hit the start, later ones any place of a round or of a write.
            process.join(rng.uniform(0.0, 0.14 * seconds))
            assert process.exitcode is None, f"over after {kills} kills: kill earlier"
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
            process.join(60)
            assert process.exitcode == -signal.SIGKILL
        else:
            process.join(300)
            assert process.exitcode == 0
        reached.append(len(RunFolder.open(tmp_path).records("rounds")))
    assert kills == 20
    assert len(set(reached)) > 5, "the kills must fall into different rounds"
    assert results(tmp_path) == expected


@pytest.mark.parametrize("workers", [2, 3])
def test_the_number_of_workers_changes_no_byte(whole, tmp_path, workers):
    RunFolder.create(tmp_path, demo_spec(workers))
    carry_on(tmp_path)
    assert results(tmp_path) == whole[0]


def test_a_run_over_workers_is_killed_and_resumed_to_the_same_bytes(whole, tmp_path):
    RunFolder.create(tmp_path, demo_spec(workers=2))
    for _ in range(2):
        process = CONTEXT.Process(target=carry_on, args=(tmp_path,))
        process.start()
        deadline = time.monotonic() + 60
        before = len(RunFolder.open(tmp_path).records("rounds"))
        while len(RunFolder.open(tmp_path).records("rounds")) < before + 10:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
    carry_on(tmp_path)
    assert results(tmp_path) == whole[0]
