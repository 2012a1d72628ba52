"""Where a Chromium or Chrome is on this machine, and how it is started without a window."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

__all__ = ["FLAGS", "find_chromium", "launch", "left_out"]

FLAGS = ("--no-sandbox", "--disable-gpu")  # as root in a container; what is opened is our own page

_NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "chrome-headless-shell", "msedge",
)  # fmt: skip
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)
_FETCHED = ("chromium-*/chrome-linux*/chrome", "chromium_headless_shell-*/*/*headless?shell")


def find_chromium() -> str | None:
    """Return the path of a browser: on PATH, where installers put it, or fetched by Playwright."""
    on_path = (shutil.which(name) for name in _NAMES)
    fetched = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "~/.cache/ms-playwright"))
    elsewhere = [*map(Path, _PLACES)]
    for pattern in _FETCHED:
        elsewhere += sorted(fetched.expanduser().glob(pattern), reverse=True)
    found = [*filter(None, on_path), *(str(path) for path in elsewhere if path.exists())]
    return found[0] if found else None


def left_out() -> str | None:
    """Return why tests in a browser cannot run, with the remedy, or None if they can."""
    missing = [name for name in ("playwright", "axe_playwright_python") if not find_spec(name)]
    if missing:
        return f"{' and '.join(missing)} is not installed; pip install --group test"
    if find_chromium() is None:
        return "no Chromium or Chrome was found; as root: apt-get install chromium"
    return None


def launch(playwright):
    """Start the browser that was found.

    Raises:
        playwright.sync_api.Error: If it does not start.
    """
    return playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
