"""What one faulty client of five does to a run: our FedAvg on Flower beside Flower's own.

    python benchmarks/flower_faults.py results/flower-faults

Five nodes, three rounds, four honest clients that pull the model halfway to 1, and a fifth that has
the fault from round 2 on. Without the fifth the model would go 0.5, 0.75, 0.875. On Ray every run
is a process of its own; one deployment (a SuperLink with TLS, SuperNodes with keys) serves all runs
in turn. Written are faults.json, with all that was measured, and README.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.experiments import toml_value
from fedmgda.flower.deployment._deployment import CONNECTION, Deployment
from fedmgda.flower.deployment._environment import keep_quiet, quiet_environment
from flower_faulty import NODES, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Run = Callable[[str, str, Path], int | None]
    Table = dict[str, dict[str, dict[str, Any]]]

LONGEST = 600.0  # seconds of one run
FAULTS = {
    "none": "no fault",
    "raises": "raises an exception",
    "nan": "returns NaN",
    "shape": "returns another shape, (1,)",
    "key": "returns another array name",
    "count": "returns 3 and says num-examples = -100",
    "exits": "calls sys.exit",
    "killed": "is killed with SIGKILL",
    "all": "all five raise",
}
STRATEGIES = ("flower", "ours")
APP = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "faulty"
version = "1.0.0"
license = "Apache-2.0"
dependencies = ["flwr>=1.41"]

[tool.flwr.app]
publisher = "fedmgda"

[tool.flwr.app.components]
serverapp = "flower_faulty:server_app"
clientapp = "flower_faulty:client_app"

[tool.flwr.app.config]
"""


def on_ray(strategy: str, fault: str, folder: Path) -> int | None:
    """Carry out a run in a process of its own; return its exit code, None if it never ended."""
    told = {"FAULTS_STRATEGY": strategy, "FAULTS_FAULT": fault, "FAULTS_FOLDER": str(folder)}
    command = [sys.executable, str(Path(__file__).resolve()), "--ray"]
    return _code(command, {**quiet_environment(folder / "flwr"), **told})


def on(deployment: Deployment) -> Run:
    """Return what carries out a run on a deployment."""

    def run(strategy: str, fault: str, folder: Path) -> int | None:
        told = {"strategy": strategy, "fault": fault, "folder": str(folder)}
        app = folder / "app"
        app.mkdir()
        lines = [f"{key} = {toml_value(value)}\n" for key, value in told.items()]
        (app / "pyproject.toml").write_text(APP + "".join(lines))
        return _code(["flwr", "run", str(app), CONNECTION, "--stream"], deployment.environment)

    return run


def _code(command: list[str], environment: Mapping[str, str]) -> int | None:
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def simulate() -> None:
    """Carry out the run that the environment describes, on Ray."""
    from flwr.simulation import run_simulation  # noqa: PLC0415 (slow)

    from flower_faulty import client_app, server_app  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_simulation(
            server_app=server_app,
            client_app=client_app,
            num_supernodes=NODES,
            backend_config={
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                "init_args": {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False},
            },
        )


def measured(run: Run, strategy: str, fault: str) -> dict[str, Any]:
    """Carry out one run, and read what it left."""
    with tempfile.TemporaryDirectory() as name:
        folder, started = Path(name), time.perf_counter()
        code = run(strategy, fault, folder)
        found = {"seconds": time.perf_counter() - started, "exit_code": code}
        lines, end = folder / "rounds.jsonl", folder / "end.json"
        told = lines.read_text().splitlines() if lines.exists() else []
        found["rounds"] = [json.loads(line) for line in told]
        found |= json.loads(end.read_text()) if end.exists() else {"error": "it never ended"}
        if (folder / "run" / "rounds.jsonl").exists():
            rows = (folder / "run" / "rounds.jsonl").read_text().splitlines()
            found["quarantined"] = [json.loads(row)["quarantined"] for row in rows]
        return found


def became_of(one: dict[str, Any]) -> str:
    """Say in a few words what became of a run."""
    if "error" in one:
        first = re.split(r"\. | \(", one["error"])[0]
        return f"ended after round {max(len(one['rounds']) - 1, 0)}: {first}"
    model = one["final"].get("w")
    if not model:
        return f"finished with no model ({', '.join(one['final']) or 'empty'})"
    shown = "NaN" if np.isnan(model).any() else ", ".join(f"{v:.3f}" for v in sorted(set(model)))
    return f"finished, w = {shown}"


def reasons(one: dict[str, Any]) -> str:
    """Return whom the record names, and why."""
    named = [f for row in one.get("quarantined", []) for f in row]
    if not named:
        return "nobody"
    by_reason: dict[str, set[int]] = {}
    for failure in named:
        text = failure["reason"]
        shown = text if len(text) <= 90 else f"… {text[-90:]}"
        by_reason.setdefault(shown.replace("|", "/"), set()).add(failure["client_id"])
    return "; ".join(
        f"client {', '.join(map(str, sorted(ids)))}: {text}" for text, ids in by_reason.items()
    )


def page(tables: Mapping[str, Table]) -> str:
    """Return the tables that people read."""
    lines = [
        "# One faulty client of five: our FedAvg on Flower, and Flower's own",
        "",
        str(__doc__).partition("\n\n    python")[2].partition("\n\n")[2].strip(),
        "",
        "Made by `python benchmarks/flower_faults.py results/flower-faults`; a client may take",
        f"{TIMEOUT:g} s. On Ray there are two actors, and none that died is replaced: its other",
        "clients fail with it. A deployment has a process for each message of each node.",
    ]
    for engine, table in tables.items():
        lines += [
            "",
            f"## {engine}",
            "",
            "| the fifth client | Flower's FedAvg | ours | whom our record names |",
            "|---|---|---|---|",
        ]
        for fault, text in FAULTS.items():
            cells = [became_of(table[fault][strategy]) for strategy in STRATEGIES]
            lines.append("| " + " | ".join([text, *cells, reasons(table[fault]["ours"])]) + " |")
    return "\n".join([*lines, ""])


def measure_all(engine: str, run: Run) -> Table:
    """Measure every fault with both strategies."""
    table: Table = {}
    for fault in FAULTS:
        table[fault] = {strategy: measured(run, strategy, fault) for strategy in STRATEGIES}
        for strategy, one in table[fault].items():
            words = f"{engine:10} {fault:8} {strategy:7} {one['seconds']:6.1f} s  {became_of(one)}"
            print(words, flush=True)
    return table


def main(place: Path) -> None:
    """Measure on both engines, and write the tables."""
    place.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
    )
    tables = {}
    with (
        tempfile.TemporaryDirectory(prefix="fm-") as name,
        Deployment(Path(name) / "d", NODES) as deployment,
    ):
        tables["A SuperLink and five SuperNodes"] = measure_all("deployment", on(deployment))
    tables["Ray"] = measure_all("ray", on_ray)
    (place / "faults.json").write_text(json.dumps(tables, indent=1) + "\n")
    (place / "README.md").write_text(page(tables))


if __name__ == "__main__":
    if sys.argv[1] == "--ray":
        keep_quiet()
        simulate()
    else:
        main(Path(sys.argv[1]))
