"""What Flower's processes are told in their environment: be quiet, fetch nothing, stay here."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

__all__ = ["keep_quiet", "quiet_environment"]

_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ADDRESS": "local",
    # Without it Ray says in advance what a later version will do with GPUs.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Ray's name for a cluster of several machines: off, it listens on this machine's loopback only.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # How often a node or a SuperLink looks for a process to start; Flower's own is a second.
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
}
_LOOPBACK = "127.0.0.1,localhost"


def quiet_environment(home: Path | None = None) -> dict[str, str]:
    """Return this process's environment with what keeps Flower quiet and on this machine.

    Args:
        home: Flower's own folder: connections, installed apps; the user's if None.
    """
    environment = {**os.environ, **_QUIET}
    if home is not None:
        environment["FLWR_HOME"] = str(home)
    # Flower starts its parts by name: they must be those beside this interpreter.
    scripts = dict.fromkeys((sysconfig.get_path("scripts"), str(Path(sys.executable).parent)))
    environment["PATH"] = os.pathsep.join((*scripts, environment.get("PATH", os.defpath)))
    for name in ("no_proxy", "NO_PROXY"):
        environment[name] = ",".join(filter(None, (environment.get(name), _LOOPBACK)))
    return environment


def keep_quiet() -> None:
    """Keep Flower and Ray quiet in this process and those it starts; before they are imported."""
    for name, value in _QUIET.items():
        os.environ[name] = value
