"""`python -m fedmgda.flower.deployment.guard TOKEN [ADDRESS...]`: stop a family left alone."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Wait until standard input ends, as it does with whoever started this, then stop the family.

    Args:
        arguments: The token of the family, and its addresses.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # of no use before the others have ended
    sys.stdin.buffer.read()
    from fedmgda.flower.deployment._processes import stop_family  # noqa: PLC0415 (not needed while waiting)

    stop_family(arguments[0], arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
