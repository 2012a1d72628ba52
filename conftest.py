"""Leaves tests out where Flower, or a browser, is not there, and says so once."""

from importlib.util import find_spec
from pathlib import Path

from chromium import left_out

_MISSING = find_spec("flwr") is None

_NO_BROWSER = left_out()

collect_ignore_glob = ["src/fedmgda/flower", "tests/*/flower"] if _MISSING else []
collect_ignore_glob += ["tests/system/browser"] if _NO_BROWSER else []
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
    if _NO_BROWSER:
        terminalreporter.write_line(f"SKIPPED the tests in a browser: {_NO_BROWSER}")
