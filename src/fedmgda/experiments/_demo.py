"""The demo: what it runs, and what it is about."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

__all__ = ["demo_table"]


def demo_table() -> dict[str, Any]:
    """Return the sweep of the demo, as read from the package."""
    return tomllib.loads((files("fedmgda.experiments") / "demo.toml").read_text())
