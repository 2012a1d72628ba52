"""Reading a spec from TOML and overrides, and writing it back."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fedmgda._errors import DataError, SpecError
from fedmgda._json import unread
from fedmgda._paths import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fedmgda.experiments._spec import Spec

__all__ = [
    "merged",
    "names_first",
    "parse_toml",
    "read_toml",
    "to_table",
    "to_toml",
    "toml_value",
    "with_overrides",
]

_MAX_BYTES = 1 << 20  # a spec is a page or two


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file into plain tables.

    Raises:
        DataError: If the file is not there or cannot be read.
        SpecError: If it is not TOML.
    """
    try:
        if is_folder(path):
            raise DataError(f"{path} is not a file; name the spec, a TOML file.")
        if path.stat().st_size > _MAX_BYTES:
            raise SpecError(f"{path} has more than {_MAX_BYTES} bytes, too many for a spec.")
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"The file {path} cannot be read: {error.strerror}.") from error
    return parse_toml(content, path)


def parse_toml(content: bytes | str, path: Path) -> dict[str, Any]:
    """Read TOML into plain tables, be it the content of a file or a text that somebody sent.

    Raises:
        SpecError: If it is not TOML.
    """
    if isinstance(content, str):  # which may hold half a character
        content = content.encode(errors="surrogatepass")
    try:
        text = content.decode("utf-8-sig")
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is not a text in UTF-8: {error.reason}.") from error
    except (ValueError, RecursionError) as error:  # what tomllib makes of bad texts and huge values
        raise SpecError(f"{path} is not valid TOML: {unread(error)}.") from error


def names_first(overrides: Iterable[str]) -> list[str]:
    """Order overrides so that naming another rule drops no option that is given with it.

    >>> names_first(["rule.epsilon=0.1", "rule.name=fedmgda"])
    ['rule.name=fedmgda', 'rule.epsilon=0.1']
    """
    return sorted(overrides, key=lambda text: not text.partition("=")[0].strip().endswith(".name"))


def with_overrides(table: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Apply `section.key=value` strings; a value is TOML, or a bare word for a text.

    >>> with_overrides({"rule": {"name": "fedavg"}}, ["rule.name=fedmgda+", "rounds=3"])
    {'rule': {'name': 'fedmgda+'}, 'rounds': 3}
    """
    overrides = names_first(overrides)
    table = _without_doubles(table, {override.partition("=")[0].strip() for override in overrides})
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise SpecError(f"The override {override!r} must have the form section.key=value.")
        *sections, name = key.strip().split(".")
        patch: dict[str, Any] = {name: _value(text.strip())}
        for section in reversed(sections):
            patch = {section: patch}
        table = merged(table, patch)
    return table


def _without_doubles(table: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """Leave out what a file says in other words about a key that is overridden."""
    pair = ("participation", "per_round")
    overridden = [name for name in pair if f"clients.{name}" in keys]
    clients = table.get("clients")
    if len(overridden) != 1 or not isinstance(clients, dict):
        return table
    kept = {key: value for key, value in clients.items() if key not in pair}
    return table | {"clients": kept}


def merged(table: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return `table` with the keys of `patch` on top, tables within tables likewise.

    A patch that names another rule or attack leaves the options of the old one behind.

    >>> merged({"rule": {"name": "fedmgda+", "epsilon": 0.1}}, {"rule": {"name": "fedavg"}})
    {'rule': {'name': 'fedavg'}}
    """
    result = dict(table)
    for key, value in patch.items():
        below = result.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            renamed = key in {"rule", "attack"} and value.get(
                "name", below.get("name")
            ) != below.get("name")
            result[key] = value if renamed else merged(below, value)
        else:
            result[key] = value
    return result


def to_table(spec: Spec) -> dict[str, Any]:
    """Return a spec as plain tables, without the keys that are None."""
    table: dict[str, Any] = _without_none(asdict(spec))
    return table


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(x) for x in value] if isinstance(value, list | tuple) else value


def to_toml(spec: Spec) -> str:
    """Write a spec as TOML, without the keys that are None."""
    scalars, tables = [], []
    for key, value in to_table(spec).items():
        if isinstance(value, dict):
            lines = [f"{k} = {toml_value(v)}" for k, v in value.items()]
            tables.append("\n".join([f"[{key}]", *lines]))
        else:
            scalars.append(f"{key} = {toml_value(value)}")
    return "\n\n".join(["\n".join(scalars), *tables]) + "\n"


def _value(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return table["value"] if len(table) == 1 else text  # a line break would smuggle in more keys


def _quoted(text: str) -> str:
    r"""Write a text so that every TOML reader gets it back, control characters included.

    >>> print(_quoted('a "b"'), _quoted(chr(10) + chr(1)))
    "a \"b\"" "\u000a\u0001"
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SpecError(f"The text {text!r} cannot be written in UTF-8; correct it.") from error
    special = {"\\": "\\\\", '"': '\\"'}
    return '"' + "".join(special.get(c) or _escaped(c) for c in text) + '"'


def _escaped(character: str) -> str:
    control = (ord(character) < 0x20 and character != "\t") or ord(character) == 0x7F
    return f"\\u{ord(character):04x}" if control else character


def _key(key: str) -> str:
    return key if key.isascii() and key.isidentifier() else toml_value(key)


def toml_value(value: Any) -> str:
    """Write one value as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case dict():
            pairs = [f"{_key(key)} = {toml_value(item)}" for key, item in value.items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
        case list() | tuple():
            return f"[{', '.join(toml_value(item) for item in value)}]"
        case _:
            return repr(value)
