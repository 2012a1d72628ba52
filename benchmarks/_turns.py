"""Processes that do rounds on demand, in turns, and what their CPU times come to."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Self

import numpy as np

from _measure import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray


class Rounds:
    """A script of this folder that, for every number it reads, does so many rounds and answers.

    Its answer is a line of numbers, of which the first is the CPU seconds. A context manager.
    """

    def __init__(self, command: Sequence[str], checkout: Path = ROOT) -> None:
        script, *arguments = command
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
            env={**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, rounds: int) -> list[float]:
        """Return what the script answers."""
        told, asked = self._process.stdout, self._process.stdin
        if told is None or asked is None:
            raise RuntimeError("the process has no pipes")
        asked.write(f"{rounds}\n")
        asked.flush()
        return [float(number) for number in told.readline().split()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)


def in_turns(pair: tuple[Rounds, Rounds], rounds: int, blocks: int) -> NDArray[np.float64]:
    """Return what both answer to every block of rounds, of shape `(blocks, 2, numbers)`.

    Who begins changes from block to block, so that no one always meets a warmer machine. The first
    block, in which things are compiled and read, does not count.
    """
    found = []
    for block in range(blocks + 1):
        order = (0, 1) if block % 2 else (1, 0)
        answers = {place: pair[place].do(rounds) for place in order}
        found.append([answers[0], answers[1]])
    return np.array(found[1:])


def interval(
    values: NDArray[np.float64], summary: Callable[[NDArray[np.float64]], float]
) -> tuple[float, float]:
    """Return the bootstrap 95 % interval of a summary of blocks, which lie along the first axis."""
    rng = np.random.default_rng(0)
    drawn = (values[rng.integers(len(values), size=len(values))] for _ in range(10_000))
    low, high = np.percentile([summary(some) for some in drawn], [2.5, 97.5])
    return float(low), float(high)
