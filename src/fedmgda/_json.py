"""Dataclasses as JSON and back: every key, type and range is checked before it is believed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["decode", "encode", "json_field", "read_json", "to_json", "unread"]

T = TypeVar("T")

_EMPTY: tuple[Any, ...] = (None, ())


def json_field(key: str | None = None, *, default: Any = MISSING, omit: bool = False) -> Any:
    """Declare a field with a name of its own in JSON, or one that is left out where it is empty."""
    return field(default=default, metadata={"key": key, "omit": omit})


def encode(value: Any) -> Any:
    """Turn a value into what JSON can say; NaN and infinity become null.

    >>> encode((np.float64(1.5), float("nan"), np.arange(2)))
    [1.5, None, [0, 1]]
    """
    if isinstance(value, np.ndarray):
        plain = value.tolist()
        # Most arrays are whole numbers or finite: no need to look at one after the other.
        return plain if np.isfinite(value).all() else encode(plain)
    if is_dataclass(value):
        pairs = ((f, getattr(value, f.name)) for f in fields(value))
        return {
            _key(f): encode(v) for f, v in pairs if not f.metadata.get("omit") or v not in _EMPTY
        }
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.generic):
        return encode(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_json(value: Any) -> str:
    """Write a value for people: indented, with a line break at the end."""
    return json.dumps(encode(value), indent=2) + "\n"


def read_json(content: bytes | str) -> Any:
    """Parse JSON that may be anybody's: every file and every message is read here.

    Raises:
        ValueError: If it is not JSON, nested too deeply, or has NaN or a number beyond reading.
    """
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(unread(error)) from error


def unread(error: ValueError | RecursionError) -> str:
    """Say why a text could not be parsed, also where the parser speaks of Python.

    >>> try:
    ...     int("1" * 5000)
    ... except ValueError as error:
    ...     print(unread(error))
    it has a number of more than 4300 digits
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if "set_int_max_str_digits" in str(error):
        return f"it has a number of more than {sys.get_int_max_str_digits()} digits"
    return str(error)


def decode(kind: type[T], table: Any, where: str = "") -> T:
    """Make a dataclass of what JSON says; keys it does not know are passed over.

    Args:
        kind: The dataclass. A field without a value in the table needs a default.
        table: What `read_json` returned.
        where: What to call it in messages.

    Raises:
        ValueError: If a key is missing or a value is not of its type.
    """
    if not isinstance(table, dict):
        raise ValueError(f"{where or 'it'} is not an object")  # noqa: TRY004 (a value, not a type)
    values = {}
    about: Any = kind
    for f, hint in _fields_of(about):
        key = _key(f)
        path = f"{where}.{key}" if where else key
        if key in table:
            values[f.name] = _value(hint, table[key], path)
        elif f.default is MISSING:
            raise ValueError(f"{path} is missing")
    return kind(**values)


def _key(about: Field[Any]) -> str:
    return about.metadata.get("key") or about.name


@cache
def _fields_of(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((f, hints[f.name]) for f in fields(kind))


def _value(hint: Any, value: Any, path: str) -> Any:
    if get_origin(hint) in {Union, UnionType}:
        options = [option for option in get_args(hint) if option is not NoneType]
        return None if value is None else _value(options[0], value, path)
    if is_dataclass(hint):
        return decode(hint, value, path)  # type: ignore[arg-type]  # is_dataclass says it is a type
    if get_origin(hint) is np.ndarray:
        items = _several(value, list, path)
        return np.array([math.nan if x is None else _number(x, path) for x in items], np.float64)
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], x, path) for x in _several(value, list, path))
    if get_origin(hint) is Mapping:
        inner = get_args(hint)[1]
        return {k: _value(inner, v, f"{path}.{k}") for k, v in _several(value, dict, path).items()}
    return _number(value, path) if hint is float else _plain(hint, value, path)


def _several(value: Any, kind: type[T], path: str) -> T:
    if not isinstance(value, kind):
        raise ValueError(f"{path} is not a {'list' if kind is list else 'table'}")  # noqa: TRY004
    return value


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{path} is not a number")  # noqa: TRY004
    if not abs(value) <= sys.float_info.max:
        raise ValueError(f"{path} is beyond a float64")
    return value


def _plain(hint: Any, value: Any, path: str) -> Any:
    if type(value) is not hint or (hint is int and abs(value) >= 2**63):
        names = {int: "a whole number", bool: "true or false", str: "a text"}
        raise ValueError(f"{path} is not {names[hint]}")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it has {name}, which is no JSON")
