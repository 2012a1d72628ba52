"""Leaves the tests of the Flower adapter out where Flower is not installed, and says so once."""

from importlib.util import find_spec

_MISSING = find_spec("flwr") is None

_THEIRS = ["src/fedmgda/flower/*", "tests/*/flower/*", "tests/flower_apps.py"]
collect_ignore_glob = _THEIRS if _MISSING else []


def pytest_terminal_summary(terminalreporter):
    """Say what was left out."""
    if _MISSING:
        terminalreporter.write_line(
            "SKIPPED the tests of fedmgda.flower: Flower is not installed; "
            "pip install 'fedmgda[flower]'"
        )
