"""From a table of plain values to a spec; what does not fit is refused in one sentence."""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from operator import ge, gt, le, lt
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fedmgda._entry import is_entry
from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names
from fedmgda.values import Annealed

__all__ = ["describe", "parse", "suggest"]

T = TypeVar("T")

_FITS = {"low": ge, "high": le, "above": gt, "below": lt}
_SHOWN = 60  # characters of a bad value that a message repeats


def parse(kind: type[T], table: dict[str, Any], where: str = "") -> T:
    """Make a dataclass of a table, checking every key, type and range.

    Args:
        kind: The dataclass.
        table: Plain values, as read from TOML.
        where: The dotted path of the table, for messages.

    Raises:
        SpecError: At the first value that does not fit.
    """
    about: Any = kind
    hints, known = _hints(about), {f.name: f for f in fields(about)}
    values = {}
    for key, value in table.items():
        path = f"{where}.{key}" if where else key
        if key not in known:
            raise SpecError(f"There is no key {_shown(path)}{suggest(key, list(known), where)}")
        values[key] = _value(hints[key], value, path, known[key])
    return kind(**values)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass; to read them takes longer than everything else here."""
    return get_type_hints(kind)


def describe(hint: Any, about: Field[Any]) -> str:
    """Say what a key may be, its range included.

    Args:
        hint: The type of the key.
        about: Its field.
    """
    entry, names = about.metadata.get("entry"), about.metadata.get("names")
    if entry and not names:
        return "your own, package.module:name"
    limits = _limits(about)
    text = _describe(_options(hint, about))
    if limits:
        text += f"; must {_describe_range(limits)}"
    return f"{text}; or your own, package.module:name" if entry else text


def _options(hint: Any, about: Field[Any]) -> list[Any]:
    names = about.metadata.get("names")
    return [Literal.__getitem__(names)] if names else _alternatives(hint)


def suggest(word: str, names: list[str], where: str = "") -> str:
    """End a sentence with the nearest valid name, or with all of them."""
    near = [f"{where}.{name}" if where else name for name in nearest_names(word, names)]
    return "; " + did_you_mean(near, f"the names are {', '.join(names)}.")


def _value(hint: Any, value: Any, path: str, about: Field[Any]) -> Any:
    if is_dataclass(hint):
        if not isinstance(value, dict):
            raise SpecError(f"{path} must be a table of keys, got {_shown(value)}.")
        return parse(hint, value, path)  # type: ignore[arg-type]  # is_dataclass says it is a type
    options = _options(hint, about)
    if about.metadata.get("entry") and isinstance(value, str) and is_entry(value):
        return value
    for option in options:
        if isinstance(value, dict) and is_dataclass(option):
            return _parse_inner(option, value, path, about)
        if isinstance(value, list | tuple) and is_dataclass(inner := _element(option)):
            return tuple(_parse_inner(inner, item, path, about) for item in value)
        accepted, result = _accept(option, value)
        if accepted:
            _check_range(result, path, about)
            return result
    words = [word for option in options for word in _words(option)]
    near = suggest(value, words) if isinstance(value, str) and words else "."
    raise SpecError(f"{path} must be {_describe(options)}, got {_shown(value)}{near}")


def _element(option: Any) -> Any:
    return get_args(option)[0] if get_origin(option) is tuple else None


def _parse_inner(kind: Any, table: Any, path: str, about: Field[Any]) -> Any:
    """Read a table that stands for a value, as in `rule.epsilon = { first = 1.0, power = 0.5 }`."""
    if not isinstance(table, dict):
        raise SpecError(f"Each of {path} must be a table of keys, got {_shown(table)}.")
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in table]
    if missing:
        raise SpecError(f"{path} needs the key {missing[0]!r}, got {_shown(table)}.")
    try:
        result = parse(kind, table, path)
    except ValueError as error:
        raise SpecError(f"{path}.{error}") from error
    if isinstance(result, Annealed):
        _check_range(result.first, f"{path}.first", about)
    return result


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) in {Union, type(int | str)}:
        return [option for option in get_args(hint) if option is not type(None)]
    return [hint]


def _accept(option: Any, value: Any) -> tuple[bool, Any]:
    """Return whether a value fits one alternative of a type, and the value as that type."""
    if get_origin(option) is Literal:
        return value in get_args(option) and isinstance(value, str), value
    if get_origin(option) in {tuple, dict}:
        return _accept_several(option, value)
    if isinstance(value, bool):
        return option is bool, value
    if option is float:
        fits = isinstance(value, int | float) and abs(value) <= sys.float_info.max
        return fits, float(value) if fits else None
    if option is int:
        return isinstance(value, int) and abs(value) < 2**63, value
    return isinstance(value, option), value


def _accept_several(option: Any, value: Any) -> tuple[bool, Any]:
    if get_origin(option) is dict:
        fits = isinstance(value, dict) and all(map(_is_plain, value.values()))
        return fits, dict(value) if fits else None
    inner = get_args(option)[0]
    fits = isinstance(value, list | tuple) and all(_accept(inner, item)[0] for item in value)
    return fits, tuple(value) if fits else None


def _is_plain(value: Any) -> bool:
    """Return whether a value of a free table is a text, a number, a truth value, or a list."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | bool) or any(_accept(kind, value)[0] for kind in (int, float))


def _check_range(value: Any, path: str, about: Field[Any]) -> None:
    if isinstance(value, tuple):
        for item in value:
            _check_range(item, f"Each of {path}", about)
        return
    if isinstance(value, str | bool | dict):
        return
    limits = _limits(about)
    if not all(_FITS[name](value, limit) for name, limit in limits.items()):
        raise SpecError(f"{path} must {_describe_range(limits)}, got {value}.")


def _limits(about: Field[Any]) -> dict[str, float]:
    return {name: about.metadata[name] for name in _FITS if about.metadata.get(name) is not None}


def _describe_range(limits: dict[str, float]) -> str:
    """Say a range as an interval, or as the one bound it has.

    >>> _describe_range({"above": 0.0, "high": 1.0}), _describe_range({"low": 1})
    ('lie in (0, 1]', 'be at least 1')
    """
    if "low" in limits:
        left, lower = f"[{limits['low']:g}", f"be at least {limits['low']:g}"
    else:
        left, lower = f"({limits['above']:g}", f"be above {limits['above']:g}"
    if "high" in limits:
        return f"lie in {left}, {limits['high']:g}]"
    return f"lie in {left}, {limits['below']:g})" if "below" in limits else lower


def _words(option: Any) -> list[str]:
    return list(get_args(option)) if get_origin(option) is Literal else []


def _describe(options: list[Any]) -> str:
    names = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a text"}
    parts = []
    for option in options:
        words = _words(option)
        if words:
            parts.append(", ".join(repr(word) for word in words[:-1]))
            parts[-1] += f" or {words[-1]!r}" if len(words) > 1 else f"{words[-1]!r}"
        elif is_dataclass(option):
            parts.append(_describe_table(option))
        elif get_origin(option) is tuple:
            element = _element(option)
            each = _describe_table(element) if is_dataclass(element) else names[element]
            parts.append(f"a list, each {each}")
        elif get_origin(option) is dict:
            parts.append("a table of texts, numbers, truth values and lists of them")
        else:
            parts.append(names[option])
    return " or ".join(parts)


def _describe_table(kind: Any) -> str:
    return f"a table with {', '.join(f.name for f in fields(kind))}"
