"""Bring the data that tests read into the cache, if somebody answers; never fail for want of it.

    python scripts/fetch_test_data.py

Tests of a data set that is not there are skipped, and one line says so.
"""

from __future__ import annotations

import subprocess
import sys

from fedmgda.data import is_cached

NAMES = ("adult", "fashion-mnist")
SECONDS = 60  # for each: about 30 MB, and as much patience as a test run may have


def problem_of(name: str) -> str | None:
    """Fetch a data set unless it is there; return in a few words why it is not, or None."""
    if is_cached(name):
        return None
    command = [sys.executable, "-m", "fedmgda", "data", "fetch", name]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"nothing complete after {SECONDS} seconds"
    if result.returncode == 0:
        return None
    said = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
    return said[-1].removeprefix("Error: ")


def main() -> None:
    """Fetch what is missing, and name what could not be had."""
    missing = {name: problem for name in NAMES if (problem := problem_of(name)) is not None}
    if missing:
        reasons = "; ".join(f"{name}: {problem}" for name, problem in missing.items())
        print(f"Tests of {' and '.join(missing)} will be skipped ({reasons}).")


if __name__ == "__main__":
    main()
