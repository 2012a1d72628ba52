"""Run one engine in an interpreter of its own; see how long its rounds take and what it holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
import uuid
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENGINES = Path(__file__).resolve().parent / "engines"
TAG = "FEDMGDA_BENCH_RUN"
SAMPLE_SECONDS = 0.2


def launch(
    python: Path,
    command: Sequence[str],
    *,
    variables: Mapping[str, str] | None = None,
    timeout: float = 150.0,
    memory: bool = False,
) -> dict[str, Any]:
    """Run an engine and return its rounds, or the reason why there are none.

    Args:
        python: The interpreter of the environment that has the engine.
        command: The script in `engines`, and its arguments.
        variables: Additions to the environment.
        timeout: Seconds after which the engine is ended.
        memory: Whether to watch the memory. It costs time, more for many processes than for few,
            so a run is watched or timed, never both.

    Returns:
        Either "error", or "first_s" (from the start of the process to the end of its first round),
        "round_s" (each later round) and "versions"; with `memory`, "peak_mb" too.
    """
    tag = uuid.uuid4().hex
    environment = {**os.environ, **(variables or {}), TAG: tag}
    start = time.monotonic()  # the same clock in all processes of a machine
    process = subprocess.Popen(
        [str(python), str(ENGINES / command[0]), *command[1:]],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = _Peak(tag) if memory else None
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = "", f"it did not end within {timeout:g} seconds"
    finally:
        watched = {"peak_mb": peak.stop()} if peak else {}
        _end_leftovers(tag)
    lines = [line for line in out.splitlines() if line.startswith('{"ends"')]
    if not lines:
        return {"error": err.strip().splitlines()[-1][:300] if err.strip() else "it said nothing"}
    told = json.loads(lines[-1])
    ends = told["ends"]
    rounds = [after - before for before, after in pairwise(ends)]
    return {"first_s": ends[0] - start, "round_s": rounds, "versions": told["versions"], **watched}


class _Peak:
    """The largest sum, over all processes of a run, of the memory each has to itself or shares.

    PSS counts a page that k processes share as 1/k in each, so that nothing counts twice.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> float:
        self._done.set()
        self._thread.join()
        return self._peak / 1024

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self._peak = max(self._peak, sum(map(_pss_kb, _processes(self._tag))))


def _processes(tag: str) -> list[Path]:
    """Return the folders in /proc of all processes that inherited the tag, however started."""
    wanted = f"{TAG}={tag}".encode()
    return [
        folder
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and wanted in _read(folder / "environ").split(b"\0")
    ]


def _pss_kb(folder: Path) -> int:
    lines = _read(folder / "smaps_rollup").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(b"Pss:")), 0)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # the process has ended since it was listed
        return b""


def _end_leftovers(tag: str) -> None:
    """End what an engine left running, so that it does not disturb the next one."""
    for folder in _processes(tag):
        try:
            os.kill(int(folder.name), signal.SIGKILL)
        except ProcessLookupError:
            continue
