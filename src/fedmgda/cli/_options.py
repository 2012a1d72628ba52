"""Options that several commands share, and those that could not be followed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from fedmgda._errors import SpecError, StoreError
from fedmgda._files import is_there
from fedmgda._paths import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NoCode", "Overrides", "SpecPath", "refuse_others", "require_folders"]

SpecPath: TypeAlias = Annotated[
    Path, typer.Argument(help="The spec, a TOML file.", metavar="SPEC.TOML")
]
Overrides: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--config", "-c", metavar="KEY=VALUE", help="Override a key, as in -c rule.epsilon=0.1."
    ),
]
NoCode: TypeAlias = Annotated[
    bool,
    typer.Option("--no-code", help="Refuse a spec that names code, as package.module:name does."),
]


def refuse_others(name: str, options: Mapping[str, object], applicable: Iterable[str]) -> None:
    """Refuse an option that was given and would be ignored.

    Args:
        name: What the command is asked for.
        options: Every option and its value; empty, None or False if it was not given.
        applicable: The options that have a meaning there.
    """
    for option, value in options.items():
        if value and option not in applicable:
            only = " goes with list only and" if option == "--measure" else ""
            raise SpecError(f"{option}{only} does not apply to {name!r}; leave it out.")


def require_folders(paths: Mapping[str, Path | None]) -> None:
    """Refuse a place where no folder can be, say because a file is there.

    Args:
        paths: For each option the place; None if it was not given.
    """
    for option, path in paths.items():
        if path is None:
            continue
        known = next(place for place in (path, *path.parents) if is_there(place))
        if not is_folder(known):
            raise StoreError(f"{known} is a file, not a folder; choose another place for {option}.")
