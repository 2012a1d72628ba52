"""A spec as a Flower app: a folder that `flwr run` accepts.

The app holds no code of ours and no data. It names the two apps of this package, which must be
installed wherever they run, and carries the spec as text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import fedmgda
from fedmgda._errors import SpecError, StoreError
from fedmgda._files import make_folder, read_file, write_file
from fedmgda.experiments import toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CLIENT_APP", "export_app"]

CLIENT_APP: Final = "fedmgda.flower.client_app:app"
_SERVER_APP = "fedmgda.flower.server_app:app"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")  # what Flower takes for the folder of an app
_FILES = frozenset({"pyproject.toml", "README.md"})
_LIMIT = 1 << 26

_README = """# {name}

A run of fedmgda as a Flower app. On the SuperLink's machine and on every node, install
`fedmgda[flower]` {version}; the app brings no code and no data. Then:

    flwr run . NAME --stream

NAME is the SuperLink's in `config.toml` of Flower's folder. The run folder is `{out}` on the
SuperLink's machine; another place, and another number of nodes to wait for, are named so:

    flwr run . NAME --stream --run-config 'out="/srv/runs/a" num-nodes=3'

The same command again goes on where the run stopped. How it ended is in the last line of the log
(`fedmgda: exit CODE: ...`) and in the file beside the run folder; `flwr run` itself does not tell.
"""


def export_app(
    folder: Path, config: Mapping[str, str | int], *, client_app: str = CLIENT_APP
) -> None:
    """Write the app of a run.

    Args:
        folder: Where to; it must be new, empty, or an app that was written here before.
        config: What the two apps are told: `spec`, `out`, `num-nodes`, `roster`.
        client_app: Another app for the nodes, as `module:name`.

    Raises:
        SpecError: If Flower would not take a folder of that name.
        StoreError: If there is something else in it.
    """
    name = folder.name
    if not _NAME.fullmatch(name):
        raise SpecError(
            f"{name!r} cannot be the folder of a Flower app; use letters, digits and hyphens, "
            "and begin with a letter."
        )
    if folder.exists() and not _is_ours(folder):
        raise StoreError(f"{folder} holds other things already; choose another place.")
    make_folder(folder)
    write_file(folder / "pyproject.toml", _project(name, config, client_app).encode())
    readme = _README.format(name=name, version=fedmgda.__version__, out=config["out"])
    write_file(folder / "README.md", readme.encode())


def _is_ours(folder: Path) -> bool:
    """Return whether a folder is empty, or holds an app that was written here and nothing else."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    content = read_file(folder / "pyproject.toml", _LIMIT)
    return names <= _FILES and content is not None and _SERVER_APP.encode() in content


def _project(name: str, config: Mapping[str, str | int], client_app: str) -> str:
    version = fedmgda.__version__
    tables: dict[str, Mapping[str, object]] = {
        "project": {
            "name": name.lower(),
            "version": version,
            "description": f"A run of fedmgda {version}.",
            "license": "Apache-2.0",
            "dependencies": ["flwr>=1.41,<2"],
        },
        "tool.flwr.app": {"publisher": "fedmgda"},
        "tool.flwr.app.components": {"serverapp": _SERVER_APP, "clientapp": client_app},
        "tool.flwr.app.config": config,
    }
    parts = [
        "\n".join((f"[{title}]", *(f"{key} = {toml_value(value)}" for key, value in rows.items())))
        for title, rows in tables.items()
    ]
    return "\n\n".join(parts) + "\n"
