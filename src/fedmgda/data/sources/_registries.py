"""Ask the package clients of this machine where a package is.

The clients know the registry or mirror that the machine is set up for; the library does not. They
are only asked for an address, never to install: `pip download` of a source package would run its
build script, while `pip index versions -vv` merely lists the links of the configured indexes.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from fedmgda.data.sources._origin import SourceError

if TYPE_CHECKING:
    from fedmgda.data.sources._origin import Download

__all__ = ["locate"]

_PATIENCE = 20.0  # seconds for a client, which may ask several mirrors; each gets 5


def locate(download: Download) -> str:
    """Return the address a file can be fetched from.

    Raises:
        SourceError: If the client is not on this machine or does not know the package.
    """
    match download.client:
        case "https":
            return download.address
        case "pip":
            return _ask_pip(download)
        case "npm":
            return _ask_npm(download)
        case "apt":
            return _ask_apt(download)


def _ask_pip(download: Download) -> str:
    package = download.address.partition("==")[0]
    options = ["-vv", "--retries", "0", "--timeout", "5", "--disable-pip-version-check"]
    own = importlib.util.find_spec("pip") is not None
    pip = [sys.executable, "-m", "pip"] if own else ["pip"]
    text = _run([*pip, "index", "versions", package, *options])
    # The wording of the lines differs between versions of pip; the links in them do not.
    link = re.search(rf"(?P<url>(https?|file)://\S*/{re.escape(download.file)})\b", text)
    if link is None:
        raise SourceError(f"the indexes of pip do not list {download.file}")
    return link["url"]


def _ask_npm(download: Download) -> str:
    options = ["--fetch-retries=0", "--fetch-timeout=5000", "--loglevel=error"]
    text = _run(["npm", "view", download.address, "dist.tarball", *options])
    if not (links := re.findall(r"https?://\S+", text)):
        raise SourceError(f"the registry of npm does not list {download.address}")
    return str(links[-1])


def _ask_apt(download: Download) -> str:
    text = _run(["apt-get", "download", "--print-uris", download.address])
    link = re.search(r"'(?P<url>https?://[^']+)'", text)
    if link is None:
        raise SourceError(
            f"the package lists of apt do not hold {download.address}; apt-get update renews them"
        )
    return link["url"]


def _run(command: list[str]) -> str:
    """Return everything a client says, whatever its exit code: the address decides."""
    if shutil.which(command[0]) is None:
        raise SourceError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        name = "pip" if command[0] == sys.executable else command[0]
        raise SourceError(f"{name} gave no answer within {_PATIENCE:g} s") from error
    return done.stdout + done.stderr
