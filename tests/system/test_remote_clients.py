"""A process that holds no client data drives a run through clients of its own."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import remote
from fedmgda.data import data_facts
from fedmgda.experiments import RunFolder, build_data, execute, open_run
from fedmgda.experiments._build import build_pool
from runs import finished_run, results, small_spec

CASES = {
    "digits": {},
    "torch path": {"clients": {"per_round": 2, "path": "torch"}},
    "AFL with its average": {"rule": {"name": "afl"}},
    "scaled losses": {"attack": {"name": "scale-loss", "clients": [1], "factor": 3.0}},
    "scaled updates": {"attack": {"name": "scale-update", "clients": [1], "factor": 3.0}},
    "gradients": {"evaluation": {"every": 3, "pareto": True}},
    "regression": {"data": {"name": "quadratics"}, "model": {}, "clients": {}},
    "named clients": {"data": {"name": "remote_table:clients"}, "model": {"name": "logistic"}},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Every case twice: with the clients in this process, and driven from one without them."""
    here, driven = (tmp_path_factory.mktemp(name) for name in ("here", "driven"))
    for name, case in CASES.items():
        finished_run(here / name, **case)
    driver = subprocess.run(
        [sys.executable, remote.__file__, str(here), str(driven)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        timeout=300,
    )
    assert driver.returncode == 0, driver.stderr
    assert driver.stdout == "[]\n", "the server needs neither torch nor anybody's data"
    return here, driven


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_as_with_the_clients_in_this_process(folders, case):
    here, driven = folders
    assert results(driven / case) == results(here / case)
    open_run(driven / case).check()


def test_a_server_that_knows_no_rows_keeps_sizes_and_a_fingerprint(tmp_path):
    spec = small_spec()
    data, _ = build_data(spec)
    with build_pool(spec, data) as pool:
        clients = Nameless(pool)
        for _ in execute(RunFolder.create(tmp_path / "run", spec), clients):
            pass
    finished_run(tmp_path / "whole")
    ours, whole = results(tmp_path / "run"), results(tmp_path / "whole")
    differing = {name for name in whole if ours.get(name) != whole[name]}
    # Without rows the verdict in the summary cannot speak of single clients' errors.
    assert differing == {"partition.npz", "predictions.npz", "summary.json", "DONE"}
    run = open_run(tmp_path / "run")
    assert run.predictions() is None
    run.check()
    with np.load(tmp_path / "run" / "partition.npz") as partition:
        assert sorted(partition) == [
            "fingerprint", "target_sums", "test_sizes", "train_sizes", "validation_sizes",
        ]  # fmt: skip


class Nameless:
    """Clients that tell as little as they may: no rows, no single predictions."""

    def __init__(self, pool):
        self._pool = pool
        self.facts = replace(pool.facts, rows=None)

    def __getattr__(self, name):
        return getattr(self._pool, name)

    def evaluate(self, params, client_ids, split, *, predictions=False):
        del predictions
        return self._pool.evaluate(params, client_ids, split)


def test_other_clients_cannot_take_a_run_over(tmp_path):
    spec = small_spec()
    data, _ = build_data(spec)
    folder = RunFolder.create(tmp_path, spec)
    with build_pool(spec, data) as pool:
        next(execute(folder, pool))
    other, _ = build_data(small_spec(seed=1))
    with build_pool(spec, other) as pool, pytest.raises(Exception, match="The data is not what"):
        next(execute(folder, pool))
    assert data_facts(data).fingerprint == data_facts(other).fingerprint  # dealt in another way
