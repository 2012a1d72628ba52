"""What all benchmarks share: taking turns, facts of the machine, tables and result files."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / ".bench"
RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("numpy", "scipy", "torch", "numba", "piqp", "torchjd", "quadprog", "cvxopt")


def take_turns(
    works: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Return the seconds of each repetition of each work, after one unmeasured run of all.

    The works take turns (A B C A B C), so that all of them meet the same neighbours. The clock may
    be that of the processor, for what is shorter than the turns a busy machine gives.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for repeat in range(repeats + 1):
        for name, work in works.items():
            start = clock()
            work()
            if repeat:
                seconds[name].append(clock() - start)
    return seconds


def median_seconds(
    works: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the median seconds of each work over repetitions that take turns."""
    turns = take_turns(works, repeats, clock)
    return {name: statistics.median(times) for name, times in turns.items()}


def machine() -> dict[str, Any]:
    """Return what the numbers depend on: processor, cores, versions and threads."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "omp_num_threads": os.environ.get("OMP_NUM_THREADS"),
        "load_average_before": round(os.getloadavg()[0], 2),
    }


def write_result(name: str, record: Mapping[str, Any]) -> None:
    """Write a record as `benchmarks/results/<name>.json`."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=2) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def text_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as aligned text, with a column for every key and "-" where a row has none."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, *([cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def cell(value: object) -> str:
    """Return a value as a reader wants it: three digits, and "-" for what was not measured."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
