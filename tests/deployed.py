"""Runs on a Flower deployment of real processes, and the same runs without Flower."""

from __future__ import annotations

import time

import psutil

from fedmgda.experiments import RunFolder, Spec, execute, parse, resolve
from fedmgda.flower.deployment._local import Order, run_on

NODES = 3
SAME = ("rounds.jsonl", "evaluations.jsonl", "model.safetensors")
"""The files that must be the same, byte for byte, with Flower and without."""


def digits(rule="fedmgda+", path="auto", rounds=2, **tables):
    """Return a spec of six clients on three nodes, evaluated as seldom as possible."""
    return resolve(
        parse(
            Spec,
            {
                "seed": 3,
                "rounds": rounds,
                "data": {"name": "digits", "num_clients": 6},
                "rule": {"name": rule},
                "clients": {"path": path, "client_lr": 0.05, "per_round": 6},
                "evaluation": {"every": 100, "improved": False},
                "records": {"predictions": False},
                "engine": {"client_timeout": 120.0, "checkpoint_seconds": 0.0},
            }
            | tables,
        )
    )


def run_embedded(spec, out):
    """Run without Flower."""
    for _ in execute(RunFolder.create(out, spec)):
        pass


def run_deployed(deployment, spec, out, nodes=NODES, **options):
    """Run on a deployment; return how it ended and what it said."""
    news = []
    order = Order(spec=spec, out=out, num_nodes=nodes, **options)
    return run_on(deployment, order, news.append), news


def same_bytes(first, second):
    """Return the files of `SAME` that differ."""
    return [name for name in SAME if (first / name).read_bytes() != (second / name).read_bytes()]


def listeners(processes):
    """Return the addresses on which processes listen."""
    found = set()
    for process in processes:
        try:
            connections = process.net_connections("inet")
        except psutil.Error:
            continue
        found |= {c.laddr for c in connections if c.status == psutil.CONN_LISTEN}
    return found


def wait_for(what, seconds):
    """Return the first true value of a function, or its last one when the time is up."""
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.1)
    return found
