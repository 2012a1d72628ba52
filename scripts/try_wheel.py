"""Install the wheel alone, without any extra, into a new environment and run the core's tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ("minnorm", "values", "rules", "metrics", "attacks")


def main(folder: Path) -> None:
    """Fail if the wheel in a folder does not pass the core's tests by itself."""
    (wheel,) = folder.glob("*.whl")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        venv.create(place / "venv", with_pip=True)
        python = str(place / "venv" / "bin" / "python")
        install = [python, "-m", "pip", "install", "-qq", "-c", str(ROOT / "constraints.txt")]
        subprocess.run([*install, str(wheel), *groups["test"]], check=True)
        # Far from the sources, so that only what the wheel holds can be imported.
        shutil.copytree(ROOT / "tests", place / "tests")
        shutil.copy(ROOT / "pyproject.toml", place)
        paths = [str(place / "tests" / "unit" / package) for package in CORE]
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *paths]
        sys.exit(subprocess.run(command, cwd=place, env=clean, check=False).returncode)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
