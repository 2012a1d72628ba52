"""What is not collected where the extra `flower` is not installed, and the line that says so."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MISSING = [name for name in ("flwr", "ray", "psutil") if find_spec(name) is None]
NEEDS_FLOWER = re.compile(rb"^(?:from|import) (?:flwr|fedmgda\.flower)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what could not even be imported; None lets others decide."""
    if not MISSING:
        return None
    if collection_path.is_dir():
        return collection_path.name == "flower" or None
    python = collection_path.suffix == ".py"
    return (python and bool(NEEDS_FLOWER.search(collection_path.read_bytes()))) or None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what is missing."""
    if MISSING:
        terminalreporter.write_line(
            f"The tests of fedmgda.flower are skipped: {', '.join(MISSING)} not installed "
            "(pip install 'fedmgda[flower]')."
        )
