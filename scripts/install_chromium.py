"""Install Debian's Chromium for the tests in a browser where that may be; never fail without it.

    PYTHONPATH=tests python scripts/install_chromium.py

It may where apt-get is there and we are root; a Chromium or Chrome that is there already is used.
Without any, the tests in a browser are left out, and one line at the end of the tests says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from chromium import find_chromium

# What may take long is fetched first, under a limit, so that no limit ends what dpkg has begun.
COMMANDS = (
    (("update",), 60),
    (("install", "--yes", "--no-install-recommends", "--download-only", "chromium"), 180),
    (("install", "--yes", "--no-install-recommends", "--no-download", "chromium"), 300),
)


def may_install() -> bool:
    """Tell whether a package of the system can be installed without asking anybody."""
    root = getattr(os, "geteuid", lambda: 1)() == 0
    return root and shutil.which("apt-get") is not None


def problem_of_installing() -> str | None:
    """Install it; return in a few words why it could not be, or None."""
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words, seconds in COMMANDS:
        command = ["apt-get", "-qq", *words]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, check=False, env=quiet
            )
        except subprocess.TimeoutExpired:
            return f"{' '.join(command[:3])} was not done after {seconds} seconds"
        if result.returncode != 0 and words != ("update",):  # what was known may be enough
            said = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
            return said[-1].removeprefix("E: ")
    return None


def main() -> None:
    """Install a browser if there is none and it may be; say what could not be had."""
    if find_chromium() is not None or not may_install():
        return
    print("Installing Chromium for the tests in a browser (a minute, once).")
    if (problem := problem_of_installing()) is not None:
        print(f"Chromium could not be installed ({problem}).")


if __name__ == "__main__":
    main()
