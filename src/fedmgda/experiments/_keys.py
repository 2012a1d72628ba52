"""Every key of a spec as a reader meets it: what it may be, its default, what it means."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, final, get_type_hints

from fedmgda.experiments._parse import describe
from fedmgda.experiments._spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SpecKey", "SpecTable", "spec_keys", "spec_tables"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SpecKey:
    """A key.

    Attributes:
        path: As in `-c`, say "rule.epsilon".
        kind: What it may be, in words.
        default: What it is if nobody says so: a value as TOML writes it, or in words.
        meaning: What it does, with code in backticks.
        see: The page of docs/ that says more; empty if none does.
        names: The names it may be, where there is a table of them.
    """

    path: str
    kind: str
    default: str
    meaning: str
    see: str = ""
    names: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTable:
    """A table of a spec: its dotted name (empty for the spec itself), meaning, and keys."""

    name: str
    meaning: str
    keys: tuple[SpecKey, ...]


def spec_tables(kind: Any = Spec, name: str = "") -> tuple[SpecTable, ...]:
    """Return every table of a spec with its keys, each before the tables inside it.

    >>> [table.name for table in spec_tables()][:3]
    ['', 'data', 'model']
    """
    hints = get_type_hints(kind)
    keys = tuple(
        _key_of(f, hints[f.name], f"{name}.{f.name}" if name else f.name)
        for f in fields(kind)
        if "meaning" in f.metadata
    )
    found = [SpecTable(name=name, meaning=(kind.__doc__ or "").partition("\n")[0], keys=keys)]
    for f in fields(kind):
        for inner in _tables_in(hints[f.name]):
            found += spec_tables(inner, f"{name}.{f.name}" if name else f.name)
    return tuple(found)


def spec_keys() -> dict[str, SpecKey]:
    """Return every key of a spec by its dotted path.

    >>> spec_keys()["server.protect.margin"].default
    '0.9'
    """
    return {key.path: key for table in spec_tables() for key in table.keys}


def _tables_in(hint: Any) -> Iterator[Any]:
    """Yield the tables of ours that a key is or may be: those whose keys say what they mean."""
    for option in (hint, *getattr(hint, "__args__", ())):
        if is_dataclass(option) and any("meaning" in f.metadata for f in fields(option)):
            yield option


def _key_of(about: Field[Any], hint: Any, path: str) -> SpecKey:
    told = about.metadata
    return SpecKey(
        path=path,
        kind=describe(hint, about),
        default=told["unset"] if about.default is None else _toml(about.default),
        meaning=told["meaning"],
        see=told["see"],
        names=told["names"],
    )


def _toml(value: Any) -> str:
    """Write a default as TOML does.

    >>> _toml(True), _toml("auto"), _toml(1.0)
    ('true', '"auto"', '1.0')
    """
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
