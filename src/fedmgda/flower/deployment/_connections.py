"""The SuperLinks that Flower's own configuration of this user knows."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, listed, nearest_names

__all__ = ["check_connection"]


def check_connection(name: str) -> None:
    """Refuse a SuperLink that Flower's configuration does not name; nothing is written.

    Raises:
        SpecError: If it does not, or cannot be read.
    """
    place = Path(os.environ.get("FLWR_HOME") or Path.home() / ".flwr") / "config.toml"
    known = _known(place)
    if name in known:
        return
    entry = f'[superlink.{name}] with address = "HOST:PORT" and root-certificates = "ca.crt"'
    if not known:
        raise SpecError(f"{place} names no SuperLink {name!r}; write there {entry}.")
    near = did_you_mean(nearest_names(name, known), f"add {entry}.")
    names = listed(map(repr, known), 8)
    raise SpecError(f"{place} names no SuperLink {name!r}, but {names}; {near}")


def _known(place: Path) -> list[str]:
    try:
        table = tomllib.loads(place.read_text(encoding="utf-8")).get("superlink", {})
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise SpecError(f"Flower's {place} cannot be read: {error}.") from error
    entries = table.items() if isinstance(table, dict) else ()
    return [name for name, entry in entries if isinstance(entry, dict)]
