"""Where results and everything else are printed."""

from __future__ import annotations

from rich.console import Console

__all__ = ["err", "out"]

out = Console(highlight=False)
"""Results, on standard output: what a pipe should get."""

err = Console(stderr=True, highlight=False)
"""Progress, notes and errors, on standard error."""
