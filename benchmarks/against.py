"""This checkout against another one: rounds in turns, CPU time, the median ratio with an interval.

git worktree add ../old COMMIT; python benchmarks/against.py ../old
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from _measure import ROOT, machine, text_table, write_result
from _turns import Rounds, in_turns, interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORKS = {"w1-compiled": 4, "w1-torch": 2, "w2": 8}
"""The works, and how many rounds of each make a block."""


def ratios(old: Path, work: str, blocks: int) -> NDArray[np.float64]:
    """Return for each block the CPU time of this checkout over that of the other."""
    command = ("_rounds.py", work)
    with Rounds(command, old) as other, Rounds(command) as this:
        seconds = in_turns((other, this), WORKS[work], blocks)[..., 0]
    return seconds[:, 1] / seconds[:, 0]


def median(values: NDArray[np.float64]) -> float:
    """Return the median as a number."""
    return float(np.median(values))


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
        low, high = interval(found, median)
        rows.append({"work": work, "new over old": median(found), "low": low, "high": high})
    commits = {"old": commit_of(given.old), "new": commit_of(ROOT)}
    print(text_table(rows))
    write_result("against", {"machine": facts, **commits, "blocks": given.blocks, "rows": rows})


if __name__ == "__main__":
    main()
