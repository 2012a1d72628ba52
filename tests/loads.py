"""Large loads, each for a process of its own, so that the memory it takes is its own."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np

from fedmgda import Cohort
from fedmgda.experiments import RunFolder, execute
from fedmgda.federation import Federation, UniformSampler, initial_state, run_round
from fedmgda.rules import FedMGDA
from fedmgda.values import FileUpdates
from runs import small_spec

KB, MB = 1 << 10, 1 << 20
TINY = {"data": {"name": "quadratics", "num_clients": 3}, "model": {}, "clients": {}}


def alone(work, *arguments):
    """Do a work in a process of its own and return what it returns."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(work, arguments)


def memory(name):
    """Return how many bytes of memory this process takes, `VmRSS` now or `VmHWM` at most."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split(f"{name}:")[1].split()[0]) * KB


def growth(folder, rounds):
    """Run so many tiny rounds; return by how many bytes each grows memory, the first half apart."""
    seldom = {"evaluation": {"every": rounds}, "engine": {"checkpoint_seconds": 2.0}}
    run = RunFolder.create(folder, small_spec(rounds=rounds, **seldom, **TINY))
    seen = [
        (step.round_num, memory("VmRSS"))
        for step in execute(run)
        if step.round_num > rounds // 2 and step.round_num % (rounds // 100) == 0
    ]
    return float(np.polyfit(*np.transpose(seen), 1)[0])


def aggregated_from_disk(folder, num_rows, num_columns):
    """Aggregate updates that lie in a file; return by how many bytes memory rose, and the gap."""
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal(num_columns, dtype=np.float32) + 0.01 for _ in range(num_rows))
    updates = FileUpdates.write(folder / "updates", rows, num_columns)
    ones = np.ones(num_rows)
    federation = Federation(
        train_cohort=lambda _params, ids, _round_num: Cohort(
            client_ids=ids, updates=updates, num_examples=ones, losses=ones
        ),
        rule=FedMGDA(),
        sampler=UniformSampler(num_clients=num_rows, per_round=num_rows),
        num_clients=num_rows,
    )
    server = initial_state(federation, np.zeros(num_columns, np.float32))
    before = memory("VmRSS")
    _, record = run_round(federation, server)
    updates.path.unlink()
    assert record.cohort.failures == ()
    return memory("VmHWM") - before, record.aggregate.gap
