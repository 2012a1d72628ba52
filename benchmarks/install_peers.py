"""Install each peer in an environment of its own under `.bench`: no pin of one binds another.

torch comes first, in the version the library itself is measured with. What is installed already is
left alone; a peer that cannot be installed is said so and does not stop the others.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / ".bench"
PEERS: dict[str, tuple[str, ...]] = {
    "flower": ("flwr[simulation]==1.41.0",),
    "pfl": ("pfl==0.6.0",),
    "fedlab": ("fedlab==1.3.0",),
    # ours is measured in the same process as these, and needs piqp there
    "solvers": ("torchjd==0.18.0", "quadprog==0.1.14", "cvxopt==1.3.3", "piqp", "scipy"),
}


def pinned(package: str) -> str:
    """Return the requirement of a package as constraints.txt has it."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(package)}==\S+$", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"constraints.txt must pin {package}; add the line {package}==...")
    return found.group()


def environment_python(name: str) -> Path:
    """Return the interpreter of a peer's environment, whether it exists or not."""
    return BENCH / name / "bin" / "python"


def install(name: str) -> str | None:
    """Make the environment of a peer; return why it could not be made, or None."""
    folder = BENCH / name
    mark = folder / "installed.json"
    wanted = [pinned("torch"), *map(_pinned_here, PEERS[name])]
    if mark.exists() and json.loads(mark.read_text(encoding="utf-8")) == wanted:
        return None
    print(f"Installing {name} into {folder.relative_to(ROOT)}.", flush=True)
    try:
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        pip = (str(environment_python(name)), "-m", "pip", "install", "--quiet")
        _run(*pip, wanted[0])  # alone: asked for later by a peer, it would be another build
        _run(*pip, *wanted)
    except subprocess.CalledProcessError as error:
        return _last_line(error.stderr)
    mark.write_text(json.dumps(wanted), encoding="utf-8")
    return None


def _pinned_here(requirement: str) -> str:
    return requirement if "==" in requirement else pinned(requirement)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if "ERROR" in line] or text.splitlines()
    return lines[-1].strip() if lines else "pip ended without a message"


def main() -> None:
    """Install all peers and write which of them failed, and why, to `.bench/failures.json`."""
    BENCH.mkdir(exist_ok=True)
    (BENCH / ".gitignore").write_text("*\n", encoding="utf-8")
    failures = {name: reason for name in PEERS if (reason := install(name)) is not None}
    for name, reason in failures.items():
        print(f"{name} could not be installed: {reason}", flush=True)
    (BENCH / "failures.json").write_text(json.dumps(failures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
