"""The command line."""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command the user typed, and leave with its documented exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        # Nothing has begun that could be lost, and an exception amid imports may become any other.
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from fedmgda.cli._streams import prepare_streams, silence_output  # noqa: PLC0415 (only now)

    prepare_streams()
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
    finally:
        signal.signal(signal.SIGINT, before)
    code = run_app()
    try:
        sys.stdout.flush()
    except OSError:
        silence_output()  # it has been said
        code = code or 4
    sys.exit(code)
