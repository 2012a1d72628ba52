"""What one faulty client of five does to a run: our FedAvg on Flower beside Flower's own.

    python benchmarks/flower_faults.py results/flower-faults

Every run is a process of its own on Ray: five nodes, three rounds, four honest clients that pull
the model halfway to 1, and a fifth that has the fault from round 2 on. Without the fifth the model
would go 0.5, 0.75, 0.875. Written are faults.json, with all that was measured, and README.md.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda.flower.deployment._environment import keep_quiet, quiet_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from flwr.app import Context, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid

ROUNDS, NODES, FAULTY, TIMEOUT = 3, 5, 4, 60.0
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
STRATEGIES = {"ours": "fedmgda.flower.FedAvg", "flower": "Flower's FedAvg"}


def spoiled(fault: str, content: RecordDict) -> RecordDict:
    """Return what a client with a fault sends, or do what it does instead."""
    from flwr.app import Array, ArrayRecord  # noqa: PLC0415

    arrays = content.array_records["arrays"]
    match fault:
        case "raises" | "all":
            raise ZeroDivisionError("the fault")
        case "exits":
            sys.exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "nan":
            arrays = ArrayRecord({"w": Array(np.full(3, np.nan, np.float32))})
        case "shape":
            arrays = ArrayRecord({"w": Array(np.full(1, 3.0, np.float32))})
        case "key":
            arrays = ArrayRecord({"v": arrays["w"]})
        case "count":
            content.metric_records["metrics"]["num-examples"] = -100
            arrays = ArrayRecord({"w": Array(np.full(3, 3.0, np.float32))})
    content["arrays"] = arrays
    return content


def client_app(fault: str) -> ClientApp:
    """Return an app whose last client has the fault from round 2 on."""
    from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict  # noqa: PLC0415
    from flwr.clientapp import ClientApp  # noqa: PLC0415

    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        w = message.content.array_records["arrays"]["w"].numpy()
        metrics = MetricRecord({"num-examples": 10, "client-id": number})
        moved = ArrayRecord({"w": Array((w + np.float32(1.0)) / np.float32(2.0))})
        content = RecordDict({"arrays": moved, "metrics": metrics})
        round_num = int(str(message.content.config_records["config"]["server-round"]))
        if fault == "all" or (number == FAULTY and round_num > 1):
            content = spoiled(fault, content)
        return Message(content=content, reply_to=message)

    return app


def run_one(strategy: str, fault: str, folder: Path) -> None:
    """Carry out one run on Ray, and leave what became of it in the folder."""
    from flwr.app import Array, ArrayRecord  # noqa: PLC0415
    from flwr.serverapp import ServerApp  # noqa: PLC0415
    from flwr.serverapp.strategy import FedAvg as FlowersFedAvg  # noqa: PLC0415
    from flwr.simulation import run_simulation  # noqa: PLC0415

    from fedmgda.flower import FedAvg  # noqa: PLC0415

    server, marks = ServerApp(), [time.perf_counter()]
    start = ArrayRecord({"w": Array(np.zeros(3, np.float32))})

    def after(round_num: int, arrays: ArrayRecord) -> None:
        marks.append(time.perf_counter())
        found = {name: array.numpy().tolist() for name, array in arrays.items()}
        told = {"round": round_num, "model": found, "seconds": marks[-1] - marks[-2]}
        with (folder / "rounds.jsonl").open("a") as file:
            file.write(json.dumps(told) + "\n")

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        del context
        known = {"record": folder / "run"} if strategy == "ours" else {}
        kind: Callable[..., Any] = FedAvg if strategy == "ours" else FlowersFedAvg
        made = kind(fraction_evaluate=0.0, min_available_nodes=NODES, **known)
        try:
            result = made.start(grid, start, num_rounds=ROUNDS, timeout=TIMEOUT, evaluate_fn=after)
            end = {"final": {n: a.numpy().tolist() for n, a in result.arrays.items()}}
        except BaseException as error:
            end = {"error": f"{type(error).__name__}: {error}"[:300]}
            (folder / "end.json").write_text(json.dumps(end))
            raise
        (folder / "end.json").write_text(json.dumps(end))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_simulation(
            server_app=server,
            client_app=client_app(fault),
            num_supernodes=NODES,
            backend_config={
                "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                "init_args": {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False},
            },
        )


def measured(strategy: str, fault: str) -> dict[str, Any]:
    """Run one process and read what it left."""
    with tempfile.TemporaryDirectory() as name:
        folder, started = Path(name), time.perf_counter()
        command = [sys.executable, str(Path(__file__).resolve()), "--one", strategy, fault, name]
        try:
            done = subprocess.run(
                command,
                env=quiet_environment(folder / "flwr"),
                capture_output=True,
                timeout=LONGEST,
                check=False,
            )
            code: int | None = done.returncode
        except subprocess.TimeoutExpired:
            code = None
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


def page(table: dict[str, dict[str, Any]]) -> str:
    """Return the table that people read."""
    lines = [
        "# One faulty client of five: our FedAvg on Flower, and Flower's own",
        "",
        str(__doc__).partition("\n\n    python")[2].partition("\n\n")[2].strip(),
        "",
        "Made by `python benchmarks/flower_faults.py results/flower-faults`; a client may take",
        f"{TIMEOUT:g} s. There are two actors, and Ray replaces none that died: its other clients",
        "fail with it.",
        "",
        "| the fifth client | Flower's FedAvg | ours | whom our record names |",
        "|---|---|---|---|",
    ]
    for fault, text in FAULTS.items():
        cells = [became_of(table[fault][strategy]) for strategy in ("flower", "ours")]
        lines.append("| " + " | ".join([text, *cells, reasons(table[fault]["ours"])]) + " |")
    return "\n".join([*lines, ""])


def main(place: Path) -> None:
    """Measure every fault with both, and write the table."""
    table: dict[str, dict[str, Any]] = {}
    for fault in FAULTS:
        table[fault] = {strategy: measured(strategy, fault) for strategy in STRATEGIES}
        for strategy, one in table[fault].items():
            print(f"{fault:8} {strategy:7} {one['seconds']:6.1f} s  {became_of(one)}", flush=True)
    place.mkdir(parents=True, exist_ok=True)
    (place / "faults.json").write_text(json.dumps(table, indent=1) + "\n")
    (place / "README.md").write_text(page(table))


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        keep_quiet()
        run_one(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main(Path(sys.argv[1]))
