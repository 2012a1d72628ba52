"""W1: one round of Fashion-MNIST in the paper's setting, in every engine, side by side.

Each repetition starts every engine once, one after the other, in a fresh process, and the same
again: what disturbs the machine for a while disturbs all of them. Memory is watched in one more run
of each, because watching costs time. "helped" means handed a model in channels_last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _data import export_w1
from _launch import launch
from _measure import BENCH, machine, text_table, write_result
from install_peers import environment_python

MAX_FAILURES = 2


@dataclass(frozen=True)
class Engine:
    """One line of the table: who runs W1, and how.

    Attributes:
        label: What the line is called.
        home: The environment of the peer, or None for the interpreter of this script.
        command: The script in `engines` and its options.
        threads: What torch is told to take, or None for its own choice.
    """

    label: str
    home: str | None
    command: tuple[str, ...]
    threads: int | None = None

    @property
    def python(self) -> Path:
        """The interpreter that runs it."""
        return environment_python(self.home) if self.home else Path(sys.executable)


ENGINES = (
    Engine("fedmgda compiled", None, ("w1_ours.py", "--path", "compiled")),
    Engine("fedmgda torch", None, ("w1_ours.py", "--path", "torch")),
    Engine("pfl, 2 processes", "pfl", ("w1_pfl.py",)),
    Engine("pfl, 2 processes, helped", "pfl", ("w1_pfl.py", "--channels-last")),
    Engine("Flower", "flower", ("w1_flower.py",)),
    Engine("Flower, helped", "flower", ("w1_flower.py", "--channels-last")),
    Engine("FedLab", "fedlab", ("w1_fedlab.py",)),
    Engine("FedLab, helped", "fedlab", ("w1_fedlab.py", "--channels-last")),
    Engine("FedLab, 1 thread", "fedlab", ("w1_fedlab.py",), threads=1),
    Engine("FedLab, helped, 1 thread", "fedlab", ("w1_fedlab.py", "--channels-last"), threads=1),
    Engine("plain torch, 2 processes", None, ("w1_plain.py",)),
)


def run_once(engine: Engine, data: Path, rounds: int, *, memory: bool = False) -> dict[str, Any]:
    """Start an engine; return its rounds, or why there are none."""
    if not engine.python.exists():
        failures = BENCH / "failures.json"
        known = json.loads(failures.read_text(encoding="utf-8")) if failures.exists() else {}
        return {"error": f"not installed: {known.get(engine.home, 'run install_peers.py')}"}
    script, *options = engine.command
    command = [script, str(data), "--rounds", str(rounds), *options]
    variables = {"OMP_NUM_THREADS": str(engine.threads)} if engine.threads else {}
    return launch(engine.python, command, variables=variables, memory=memory)


def measure(repeats: int, rounds: int) -> list[dict[str, Any]]:
    """Return a row per engine; one that failed twice is not tried again."""
    data = export_w1()
    run_once(ENGINES[0], data, 2)  # what compiles once for all runs does so here
    runs: dict[str, list[dict[str, Any]]] = {engine.label: [] for engine in ENGINES}
    for repeat in range(repeats + 1):
        for engine in ENGINES:
            tried = runs[engine.label]
            if sum("error" in run for run in tried) < MAX_FAILURES:
                watch = repeat == repeats
                tried.append(run_once(engine, data, 3 if watch else rounds, memory=watch))
                print(f"{engine.label}: {_told(tried[-1])}", flush=True)
    return [_row(label, tried) for label, tried in runs.items()]


def _told(run: dict[str, Any]) -> str:
    if "error" in run:
        return str(run["error"])
    watched = f", {run['peak_mb']:.0f} MB while watched" if "peak_mb" in run else ""
    return f"{statistics.median(run['round_s']):.3f} s per round{watched}"


def _row(label: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarise an engine's runs: the median round of each, and the medians of those."""
    row: dict[str, Any] = {"engine": label}
    timed = [run for run in runs if "error" not in run and "peak_mb" not in run]
    if timed:
        each = [statistics.median(run["round_s"]) for run in timed]
        row |= {
            "round_s": statistics.median(each),
            "first_s": statistics.median(run["first_s"] for run in timed),
            "round_s_of_each_run": each,
            "first_s_of_each_run": [run["first_s"] for run in timed],
            "versions": timed[-1]["versions"],
        }
    row["peak_mb"] = next((run["peak_mb"] for run in runs if "peak_mb" in run), None)
    failures = [run["error"] for run in runs if "error" in run]
    return row | ({"failures": failures} if failures else {})


def main() -> None:
    """Measure all engines, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    facts = machine()
    rows = measure(options.repeats, options.rounds)
    shown = ("engine", "round_s", "first_s", "peak_mb")
    print(text_table([{key: row.get(key) for key in shown} for row in rows]))
    write_result(
        "w1",
        {"machine": facts, "repeats": options.repeats, "rounds": options.rounds, "engines": rows},
    )


if __name__ == "__main__":
    main()
