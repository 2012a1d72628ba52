"""What a result depends on besides its spec: versions, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping  # noqa: TC003 (read at run time)
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import final

__all__ = ["FORMAT", "Environment", "environment"]

FORMAT = 2
"""Of the run folders that are written; those of format 1 are read and resumed."""

_PACKAGES = ("fedmgda", "numpy", "piqp", "torch", "scikit-learn", "safetensors", "numba")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """`environment.json`: where a run began.

    Attributes:
        format: Of the run folder.
        seed: Of the run.
        python: The version of the interpreter.
        platform: The operating system.
        machine: The kind of processor.
        cores: How many it has.
        packages: The versions of what numbers depend on.
        commit: Of the source, where it is a checkout, with "+changes" if files differ from it.
        path: What computes, once it is known: "compiled" or "torch".
        init: The sha256 of the model file the run started from, if it did (`model.init`).
    """

    format: int = 1
    seed: int | None = None
    python: str | None = None
    platform: str | None = None
    machine: str | None = None
    cores: int | None = None
    packages: Mapping[str, str] | None = None
    commit: str | None = None
    path: str | None = None
    init: str | None = None


def environment(seed: int) -> Environment:
    """Return the environment of this process."""
    return Environment(
        format=FORMAT,
        seed=seed,
        python=platform.python_version(),
        platform=platform.system(),
        machine=platform.machine(),
        cores=os.cpu_count(),
        packages={name: found for name in _PACKAGES if (found := _version(name))},
        commit=_commit(),
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the git commit of the source, if there is one."""
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
