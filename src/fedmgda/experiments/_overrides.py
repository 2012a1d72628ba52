"""Overrides of a sweep: each is valid on its own, and none is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError
from fedmgda.experiments._parse import parse
from fedmgda.experiments._spec import Spec
from fedmgda.experiments._toml import names_first, with_overrides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["override_patches", "refuse_ignored"]

_ANOTHER = object()  # a value that no spec has


def override_patches(overrides: Iterable[str]) -> list[dict[str, Any]]:
    """Return every `section.key=value` as a partial spec.

    Raises:
        SpecError: If there is no such key, or the value does not fit it.
    """
    patches = [with_overrides({}, [override]) for override in names_first(overrides)]
    for patch in patches:
        # Also where a variant replaces the key, so that no run would ever look at it.
        parse(Spec, {key: value for key, value in patch.items() if key != "sweep"})
    return patches


def refuse_ignored(
    patches: Sequence[dict[str, Any]], runs_of: Callable[[Sequence[dict[str, Any]]], Any]
) -> None:
    """Refuse an overridden key if no run would differ whatever value it had.

    Args:
        patches: The overrides as partial specs.
        runs_of: Returns what is compared: the tables of all runs under some patches.

    Raises:
        SpecError: At the first such key.
    """
    paths = dict.fromkeys(path for patch in patches for path in _paths(patch))
    for path in paths:
        if path[0] == "sweep":
            continue  # the sweep itself, all of which is used
        if runs_of([_with_another(patch, path) for patch in patches]) == runs_of(patches):
            raise SpecError(f"{'.'.join(path)} would be ignored: {_reason(path)}.")


def _reason(path: tuple[str, ...]) -> str:
    if path == ("seed",):
        return "sweep.seeds gives every run its seed; leave it out, or change sweep.seeds"
    names = f" or names another {path[0]}" if path[0] in {"rule", "attack"} else ""
    return (
        f"in every run the variant, the grid or a later override sets it{names}; leave it out, "
        "or change it there"
    )


def _paths(table: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where the values of a table are, tables within tables likewise."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
        else:
            yield (*above, key)


def _with_another(table: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the table with another value at a place, if it has one there."""
    key, *below = path
    if key not in table:
        return table
    if not below:
        return table | {key: _ANOTHER}
    inner = table[key]
    return table | {key: _with_another(inner, tuple(below))} if isinstance(inner, dict) else table
