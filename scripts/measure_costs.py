"""Time three rounds of every study, and write what `fedmgda reproduce list` shows as its cost.

    python scripts/measure_costs.py src/fedmgda/paper/costs.json

CPU seconds of one process, so that what else the machine does matters little. A round of
Shakespeare takes many minutes: there the smallest client is timed, training and one more pass, and
multiplied by the share of its rows. Studies whose data is not in the cache keep their number;
FEMNIST has none, because a part of its writers tells nothing of a round of all.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from fedmgda import FedmgdaError
from fedmgda.experiments import RunFolder, Spec, build_data, execute
from fedmgda.experiments._build import build_pool
from fedmgda.paper import STUDIES, Setting, load_study, plan_study

ROUNDS, SECONDS = 3, 30.0  # of CPU, after which one round is enough
LONG = ("shakespeare",)  # all clients take part in every round
UNTIMED = ("emnist-1", "emnist-2")


def seconds_per_round(name: str) -> float | None:
    """Return the CPU seconds of a round of a study; None for the theory.

    The first run is timed, and where some are protected the first of those too: their rounds take
    several times as long.
    """
    runs = plan_study(load_study(name), Setting())
    if not runs:
        return None
    if name in LONG:
        return by_smallest_client(runs[0].spec)
    kinds: dict[bool, list[Spec]] = {}
    for run in runs:
        kinds.setdefault(run.spec.server.protect is not None, []).append(run.spec)
    rounds = {kind: sum(spec.rounds for spec in specs) for kind, specs in kinds.items()}
    taken = sum(rounds[kind] * timed(specs[0]) for kind, specs in kinds.items())
    return taken / sum(rounds.values())


def timed(spec: Spec) -> float:
    """Return the CPU seconds of one of the first rounds of a run."""
    with tempfile.TemporaryDirectory() as scratch:
        steps: Any = execute(RunFolder.create(Path(scratch) / "run", spec))
        with closing(steps):
            next(steps)  # the data has been read and the initial model evaluated
            started = time.process_time()
            for step in steps:
                spent = time.process_time() - started
                if step.round_num == ROUNDS or spent > SECONDS:
                    return spent / step.round_num
    raise AssertionError("a study has more rounds than that")


def by_smallest_client(spec: Spec) -> float:
    """Return the CPU seconds of a round of all clients, from those of one and its rows."""
    data, _ = build_data(spec)
    rows = data.num_examples
    client = int(rows.argmin())
    with build_pool(spec, data) as pool:
        params = pool.initial_params()
        started = time.process_time()
        pool.train_cohort(params, [client], 1)
        pool.evaluate(params, [client], "train")
        return (time.process_time() - started) * float(rows.sum() / rows[client])


def machine() -> str:
    """Return what the processor calls itself."""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def main() -> None:
    """Measure all studies and write the file."""
    path = Path(sys.argv[1])
    known = json.loads(path.read_text()) if path.exists() else {"seconds_per_round": {}}
    costs = dict(known["seconds_per_round"])
    for name in (name for name in STUDIES if name not in UNTIMED):
        try:
            pace = seconds_per_round(name)
        except FedmgdaError as error:
            print(f"{name}: {error}")
            continue
        if pace is not None:
            costs[name] = round(pace, 4)
            print(f"{name}: {pace:.4f} s a round", flush=True)
    ordered = {name: costs[name] for name in STUDIES if name in costs}
    table = {"machine": machine(), "seconds_per_round": ordered}
    path.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
