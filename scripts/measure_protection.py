"""Measure what a protected round takes, in plain rounds, for the equal-compute rows of its studies.

    python scripts/measure_protection.py results/protected-cost

Runs the first seed that studies may be tuned on, each rule plain and protected, with neither who
improved nor the users evaluated: a plain federation needs none of it. CPU seconds of this process,
so that what else the machine does matters little; the rows take turns. Which step is taken
depends on where training stands, so as many rounds are run as a study has, up to a limit.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmgda.experiments import RunFolder, execute
from fedmgda.experiments._environment import environment
from fedmgda.paper import Setting, load_study, plan_study

if TYPE_CHECKING:
    from fedmgda.experiments import Spec

SEED = 1
ROUNDS = {"protected-digits": 150, "protected-fmnist": 100}
PASSES = {"protected-digits": 3, "protected-fmnist": 1}
SILENT = ("evaluation.improved=false", "evaluation.every=1000")


def seconds(spec: Spec) -> float:
    """Return the CPU seconds of all rounds of a run; what comes before the first is left out."""
    with tempfile.TemporaryDirectory() as scratch:
        steps: Any = execute(RunFolder.create(Path(scratch) / "run", spec))
        with closing(steps):
            next(steps)  # the data has been read, the kernels are compiled
            started = time.process_time()
            for _ in steps:
                pass
            return time.process_time() - started


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Return the CPU seconds of a round of each row of a study, and protected over plain."""
    study = load_study(name)
    setting = Setting(rounds=rounds, seeds=range(SEED, SEED + 1), changes=SILENT)
    specs = {
        run.cell["variant"]: run.spec
        for run in plan_study(study, setting)
        if run.cell["variant"] not in study.longer
    }
    taken: dict[str, list[float]] = {row: [] for row in specs}
    for _ in range(PASSES[name]):
        for row, spec in specs.items():
            taken[row].append(seconds(spec) / rounds)
    per_round = {row: statistics.median(values) for row, values in taken.items()}
    ratios = {
        row: round(per_round[f"{row} protected"] / per_round[row], 3)
        for row in per_round
        if f"{row} protected" in per_round
    }
    return {
        "rounds": rounds, "seed": SEED, "passes": PASSES[name],
        "cpu_seconds_per_round": {row: round(value, 5) for row, value in per_round.items()},
        "protected_over_plain": ratios,
        "largest": max(ratios.values()),
    }  # fmt: skip


def main() -> None:
    """Measure the studies that have rows of equal compute, and write cost.json."""
    folder = Path(sys.argv[1])
    found = {name: measure(name, rounds) for name, rounds in ROUNDS.items()}
    facts = {key: value for key, value in asdict(environment(SEED)).items() if value is not None}
    text = json.dumps({"environment": facts, "studies": found}, indent=2)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cost.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
