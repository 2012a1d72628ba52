"""What a result depends on besides its spec: versions, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["environment"]

_PACKAGES = ("fedmgda", "numpy", "piqp", "torch", "scikit-learn", "safetensors", "numba")


def environment(seed: int) -> dict[str, Any]:
    """Return versions, cores, the commit of the source (where it is a checkout) and the seed."""
    return {
        "seed": seed,
        "python": platform.python_version(),
        "platform": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "commit": _commit(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the git commit of the source, with "+changes" if files differ from it."""
    here = Path(__file__).parent
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(here), *arguments],  # noqa: S607 (the git on the user's path)
                capture_output=True,
                text=True,
                timeout=5,
                check=True,
            ).stdout.strip()
            for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", "."])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+changes" if changes else "")
