"""This checkout against another one: rounds in turns, CPU time, the median ratio with an interval.

git worktree add ../old COMMIT; python benchmarks/against.py ../old
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from _measure import ROOT, machine, text_table, write_result

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORKS = {"w1-compiled": 4, "w1-torch": 2, "w2": 8}
"""The works, and how many rounds of each make a block."""


class Checkout:
    """A process that does rounds with the library of a checkout."""

    def __init__(self, path: Path, work: str) -> None:
        script = ROOT / "benchmarks" / "_rounds.py"
        self._process = subprocess.Popen(
            [sys.executable, str(script), work],
            env={**os.environ, "PYTHONPATH": str(path / "src"), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, rounds: int) -> float:
        """Return the CPU seconds of some rounds."""
        told, asked = self._process.stdout, self._process.stdin
        if told is None or asked is None:
            raise RuntimeError("the process has no pipes")
        asked.write(f"{rounds}\n")
        asked.flush()
        return float(told.readline())

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=60)


def ratios(old: Path, work: str, blocks: int) -> NDArray[np.float64]:
    """Return for each block the CPU time of this checkout over that of the other.

    Who begins changes from block to block, so that no one always meets a warmer machine.
    """
    rounds, found = WORKS[work], []
    pair = [Checkout(old, work), Checkout(ROOT, work)]
    for one in pair:
        one.seconds(rounds)
    for block in range(blocks):
        order = pair if block % 2 else pair[::-1]
        seconds = {id(one): one.seconds(rounds) for one in order}
        found.append(seconds[id(pair[1])] / seconds[id(pair[0])])
    for one in pair:
        one.end()
    return np.array(found)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the bootstrap 95 % interval of the median."""
    draws = np.random.default_rng(0).choice(values, (10_000, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(low), float(high)


def commit_of(path: Path) -> str:
    """Return the commit of a checkout."""
    command = ["git", "-C", str(path), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Measure, print a table and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout of the other commit")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--work", action="append", choices=WORKS, help="only this one; repeatable")
    given = parser.parse_args()
    facts, rows = machine(), []
    for work in given.work or WORKS:
        found = ratios(given.old.resolve(), work, given.blocks)
        low, high = interval(found)
        rows.append(
            {"work": work, "new over old": float(np.median(found)), "low": low, "high": high}
        )
    commits = {"old": commit_of(given.old), "new": commit_of(ROOT)}
    print(text_table(rows))
    write_result("against", {"machine": facts, **commits, "blocks": given.blocks, "rows": rows})


if __name__ == "__main__":
    main()
