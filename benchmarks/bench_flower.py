"""Seconds per round over Flower: a spec of ours beside Flower's own FedAvg, in the same run.

One deployment (a SuperLink with TLS, two SuperNodes with keys) serves both, one after the other and
again; then Ray does. Every round is one exchange: two nodes train a linear model on four fifths of
their digits. The first round is told apart: Flower's app loads torch and the data in it, ours has
done so in the exchange before it. The embedded engine, which exchanges nothing, tells what the
training itself takes.

    python benchmarks/bench_flower.py [--rounds 8] [--repeats 2]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from _measure import machine, text_table, write_result
from fedmgda.experiments import RunFolder, Spec, execute, open_run, parse, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    Seconds = dict[str, list[list[float]]]  # of the rounds of each run, by server

NODES = 2
LIMIT = 900.0  # seconds for a run
PEER = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "peer"
version = "1.0.0"
license = "Apache-2.0"
dependencies = ["flwr>=1.41"]

[tool.flwr.app]
publisher = "fedmgda"

[tool.flwr.app.components]
serverapp = "flower_peer:server_app"
clientapp = "flower_peer:client_app"

[tool.flwr.app.config]
nodes = {nodes}
rounds = {rounds}
out = {out}
"""


def spec_of(rounds: int) -> Spec:
    """Return FedAvg on the digits with one exchange a round."""
    table = {
        "seed": 1,
        "rounds": rounds,
        "data": {"name": "digits", "num_clients": NODES},
        "model": {"name": "logistic"},
        "rule": {"name": "fedavg"},
        "clients": {"per_round": NODES, "batch_size": 10, "client_lr": 0.05, "path": "torch"},
        "evaluation": {"every": 10_000, "improved": False},
        "records": {"predictions": False},
    }
    return resolve(parse(Spec, table))


def of_rounds(out: Path) -> list[float]:
    """Return what the rounds of a run took, as its folder says."""
    return [sum(row.seconds.values()) for row in open_run(out).timings]


def embedded(folder: Path, rounds: int) -> list[float]:
    """Run with the clients in this process."""
    for _ in execute(RunFolder.create(folder / "run", spec_of(rounds))):
        pass
    return of_rounds(folder / "run")


def on_deployment(folder: Path, rounds: int, repeats: int) -> Seconds:
    """Run both on one deployment, in turns."""
    from fedmgda.flower.deployment._deployment import CONNECTION, Deployment  # noqa: PLC0415
    from fedmgda.flower.deployment._local import Order, run_on  # noqa: PLC0415

    found: Seconds = {"fedmgda": [], "Flower's FedAvg": []}
    with Deployment(folder / "d", NODES) as deployment:
        for turn in range(repeats):
            out = folder / f"ours-{turn}"
            end = run_on(deployment, Order(spec=spec_of(rounds), out=out, num_nodes=NODES), print)
            if end.code:
                raise SystemExit(f"Our run ended with code {end.code}: {end.sentence}")
            found["fedmgda"].append(of_rounds(out))
            told = folder / f"peer-{turn}.json"
            app = folder / f"peer-{turn}"
            app.mkdir()
            text = PEER.format(nodes=NODES, rounds=rounds, out=json.dumps(str(told)))
            (app / "pyproject.toml").write_text(text)
            subprocess.run(
                ["flwr", "run", str(app), CONNECTION],  # noqa: S607 (beside this interpreter)
                env=deployment.environment,
                check=True,
                timeout=LIMIT,
            )
            found["Flower's FedAvg"].append(_told(told))
    return found


def on_ray(folder: Path, rounds: int, repeats: int) -> Seconds:
    """Run both on Ray, in turns, each in a process of its own."""
    found: Seconds = {"fedmgda": [], "Flower's FedAvg": []}
    for turn in range(repeats):
        for name, seconds in found.items():
            told = folder / f"ray-{turn}-{name[0]}.json"
            kind = "ours" if name == "fedmgda" else "peer"
            command = [sys.executable, __file__, "--ray", kind, str(told), "--rounds", str(rounds)]
            subprocess.run(command, check=True, timeout=LIMIT)
            seconds.append(_told(told))
    return found


def once_on_ray(kind: str, told: Path, rounds: int) -> None:
    """Run one of them on Ray, and write what its rounds took."""
    from fedmgda.flower.deployment._environment import keep_quiet  # noqa: PLC0415

    keep_quiet()
    if kind == "ours":
        from fedmgda.flower._simulation import simulate_on_ray  # noqa: PLC0415

        out = told.with_suffix("")
        if code := simulate_on_ray(spec_of(rounds), out, NODES).code:
            raise SystemExit(code)
        told.write_text(json.dumps(of_rounds(out)))
        return
    from flwr.serverapp import ServerApp  # noqa: PLC0415
    from flwr.simulation import run_simulation  # noqa: PLC0415

    from flower_peer import client_app, serve  # noqa: PLC0415

    app = ServerApp()
    app.main()(lambda grid, context: serve(grid, NODES, rounds, told))  # noqa: ARG005
    run_simulation(
        server_app=app,
        client_app=client_app,
        num_supernodes=NODES,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": NODES, "include_dashboard": False},
        },
    )


def _told(path: Path) -> list[float]:
    """Wait for what a run writes at its end."""
    until = time.monotonic() + LIMIT
    while not path.exists() or not path.read_text():
        if time.monotonic() > until:
            raise SystemExit(f"{path} did not appear within {LIMIT:g} s.")
        time.sleep(0.5)
    return list(json.loads(path.read_text()))


def _row(mode: str, name: str, runs: list[list[float]]) -> dict[str, object]:
    later = [seconds for run in runs for seconds in run[1:]]
    return {
        "mode": mode,
        "server": name,
        "rounds": len(later),
        "first_s": round(statistics.median(run[0] for run in runs), 3),
        "median_s": round(statistics.median(later), 3),
        "fastest_s": round(min(later), 3),
        "slowest_s": round(max(later), 3),
    }


def main() -> None:
    """Measure all modes, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--ray", nargs=2, metavar=("KIND", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ray:
        once_on_ray(given.ray[0], Path(given.ray[1]), given.rounds)
        return
    here = str(Path(__file__).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
    modes: dict[str, Callable[[Path], Seconds]] = {
        "embedded": lambda folder: {"fedmgda": [embedded(folder, given.rounds)]},
        "Ray": lambda folder: on_ray(folder, given.rounds, given.repeats),
        "deployment": lambda folder: on_deployment(folder, given.rounds, given.repeats),
    }
    rows = []
    for mode, measure in modes.items():
        with tempfile.TemporaryDirectory(prefix="fb-") as folder:
            found = measure(Path(folder))
        rows += [_row(mode, name, runs) for name, runs in found.items()]
    print(text_table(rows))
    write_result("flower", {"machine": machine(), "nodes": NODES, "rows": rows})


if __name__ == "__main__":
    main()
