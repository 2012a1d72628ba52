"""Leaves the tests of the Flower adapter out where Flower is not installed, and says so once."""

from importlib.util import find_spec
from pathlib import Path

_MISSING = find_spec("flwr") is None

collect_ignore_glob = ["src/fedmgda/flower", "tests/*/flower"] if _MISSING else []
collect_ignore = [
    str(path)
    for path in (Path(__file__).parent / "tests").glob("*.py")  # what those tests have in common
    if _MISSING and any(word in path.read_text() for word in ("flwr", "flower", "psutil"))
]


def pytest_terminal_summary(terminalreporter):
    """Say what was left out."""
    if _MISSING:
        terminalreporter.write_line(
            "SKIPPED the tests of fedmgda.flower: Flower is not installed; "
            "pip install 'fedmgda[flower]'"
        )
