"""The command line."""

from __future__ import annotations

import io
import os
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names in any script, whatever it can show
            stream.reconfigure(errors="backslashreplace")
    code = run_app()
    try:
        sys.stdout.flush()
    except OSError:
        # It has been said, or nobody listens; Python would try once more, and complain of itself.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 4
    sys.exit(code)
