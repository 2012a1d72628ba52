"""The command line."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command the user typed, and leave with its documented exit code."""
    try:
        from fedmgda.cli._app import run_app  # noqa: PLC0415 (optional packages)
    except ImportError as error:
        if (error.name or "fedmgda").startswith("fedmgda"):
            raise  # not a missing package but a fault of this one
        sys.stderr.write(
            f"The command line needs the package {error.name}; "
            "install it with: pip install 'fedmgda[sim]'.\n"
        )
        sys.exit(7)
    sys.exit(run_app())
