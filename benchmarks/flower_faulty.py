"""A Flower app in which one client of five has a fault, under our FedAvg or Flower's own.

Four honest clients pull the model halfway to 1, and the fifth has the fault from round 2 on. Which
fault, which strategy and where to write stand in the run config, or in the environment where there
is none (Ray).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg as FlowersFedAvg

if TYPE_CHECKING:
    from collections.abc import Callable

    from flwr.app import Context
    from flwr.serverapp import Grid

ROUNDS, NODES, FAULTY, TIMEOUT = 3, 5, 4, 60.0

client_app = ClientApp()
server_app = ServerApp()


def setting(context: Context, name: str) -> str:
    """Return what a run was told."""
    return str(context.run_config.get(name) or os.environ[f"FAULTS_{name.upper()}"])


def spoiled(fault: str, content: RecordDict) -> RecordDict:
    """Return what a client with a fault sends, or do what it does instead."""
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


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """Pull the model halfway to 1, or have the fault."""
    fault, number = setting(context, "fault"), int(context.node_config["partition-id"])
    w = message.content.array_records["arrays"]["w"].numpy()
    metrics = MetricRecord({"num-examples": 10, "client-id": number})
    moved = ArrayRecord({"w": Array((w + np.float32(1.0)) / np.float32(2.0))})
    content = RecordDict({"arrays": moved, "metrics": metrics})
    round_num = int(str(message.content.config_records["config"]["server-round"]))
    if fault == "all" or (number == FAULTY and round_num > 1):
        content = spoiled(fault, content)
    return Message(content=content, reply_to=message)


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry out a run, and leave what became of it in the folder."""
    from fedmgda.flower import FedAvg  # noqa: PLC0415 (a node does without)

    folder, marks = Path(setting(context, "folder")), [time.perf_counter()]
    ours = setting(context, "strategy") == "ours"

    def after(round_num: int, arrays: ArrayRecord) -> None:
        marks.append(time.perf_counter())
        found = {name: array.numpy().tolist() for name, array in arrays.items()}
        told = {"round": round_num, "model": found, "seconds": marks[-1] - marks[-2]}
        with (folder / "rounds.jsonl").open("a") as file:
            file.write(json.dumps(told) + "\n")

    kind: Callable[..., Any] = FedAvg if ours else FlowersFedAvg
    known = {"record": folder / "run"} if ours else {}
    made = kind(fraction_evaluate=0.0, min_available_nodes=NODES, **known)
    start = ArrayRecord({"w": Array(np.zeros(3, np.float32))})
    try:
        result = made.start(grid, start, num_rounds=ROUNDS, timeout=TIMEOUT, evaluate_fn=after)
        end = {"final": {n: a.numpy().tolist() for n, a in result.arrays.items()}}
    except BaseException as error:
        end = {"error": f"{type(error).__name__}: {error}"[:300]}
        raise
    finally:
        (folder / "end.json").write_text(json.dumps(end))
