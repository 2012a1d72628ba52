"""Much of everything: memory stays flat, and no number depends on how the work is shared out.

The default run takes less of it; `-m torture` all.
"""

import os
import random
import signal
import time

import numpy as np
import pytest

from commands import SPEC, Command, Place
from fedmgda.clients import LocalTraining
from loads import KB, MB, aggregated_from_disk, alone, growth
from unit.clients._toys import everything, federation, pool

USERS = 3_400


@pytest.mark.parametrize("rounds", [3_000, pytest.param(10_000, marks=pytest.mark.torture)])
def test_memory_is_flat_over_rounds(tmp_path, rounds):
    assert alone(growth, tmp_path / "run", rounds) < 1 * KB


@pytest.mark.parametrize(
    ("num_columns", "most"),
    [(20_000, 150 * MB), pytest.param(1_000_000, 1_500 * MB, marks=pytest.mark.torture)],
)
def test_a_thousand_updates_on_disk_are_aggregated_in_little_memory(tmp_path, num_columns, most):
    taken, gap = alone(aggregated_from_disk, tmp_path, 1_000, num_columns)
    assert taken < most
    assert gap < 1e-8


@pytest.mark.parametrize("path", ["compiled", pytest.param("torch", marks=pytest.mark.torture)])
def test_thousands_of_uneven_clients_give_the_same_bits_however_many_work(path):
    sizes = np.random.default_rng(3).lognormal(2.0, 1.2, USERS).astype(int) + 1
    assert sizes.max() > 50 * np.median(sizes)
    found = []
    for workers in (1, 2):
        options = {"data": federation(tuple(sizes.tolist())), "path": path, "workers": workers}
        with pool(training=LocalTraining(batch_size=10), **options) as clients:
            params, everyone = clients.initial_params(), range(USERS)
            cohort = clients.train_cohort(params, everyone, 1)
            scores = clients.evaluate(params, everyone, "test")
            found.append((cohort.updates.rows.tobytes(), scores.losses.tobytes()))
            assert cohort.failures == scores.failures == ()
    assert found[0] == found[1]


@pytest.mark.torture
def test_eight_runs_at_a_time_are_those_of_one(commands, sources):
    (sources / "eight.toml").write_text(SPEC + f"[sweep]\nseeds = {[*range(8)]}\n")
    found = []
    for jobs in ("1", "8"):
        command = Command(["sweep", "../eight.toml", "-o", "out", "-j", jobs])
        place = Place(commands, command, sources, f"{jobs} at a time")
        code, said = place.run()
        assert code == 0, said
        found.append(place.left())
    assert found[0] == found[1]
    assert len([name for name in found[0] if name.endswith("/DONE")]) == 8


def rounds_under_fire(clients, calm, seconds, pause):
    """Train rounds for so long and kill a worker every few seconds; return rounds and kills."""
    rng, kills = random.Random(7), 0  # noqa: S311 (victims, not secrets)
    params, everyone = clients.initial_params(), tuple(range(clients.num_clients))
    end, rounds = time.monotonic() + seconds, 0
    due = time.monotonic() + pause
    while time.monotonic() < end:
        rounds += 1
        if time.monotonic() > due:
            ready = [worker._process.pid for worker in clients._engine._workers if worker.ready]
            if ready:
                os.kill(rng.choice(ready), signal.SIGKILL)
                kills, due = kills + 1, time.monotonic() + pause
        cohort, expected = (one.train_cohort(params, everyone, rounds) for one in (clients, calm))
        assert cohort.failures == ()
        np.testing.assert_array_equal(cohort.updates.rows, expected.updates.rows)
        np.testing.assert_array_equal(cohort.losses, expected.losses)
        params[: clients.num_params] -= expected.updates.rows.mean(axis=0)
    return rounds, kills


@pytest.mark.torture
def test_workers_that_are_killed_for_ten_minutes_change_no_number():
    options = {"build_model": everything, "path": "torch"}
    with pool(workers=2, **options) as clients, pool(**options) as calm:
        rounds, kills = rounds_under_fire(clients, calm, seconds=600, pause=4.0)
    assert kills > 60
    assert rounds > 600
