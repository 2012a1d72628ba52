"""A function of the user's own, named in a spec: `package.module:function`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["is_entry", "load_entry"]


def is_entry(text: str) -> bool:
    """Return whether a name means a function of the user's own rather than one of ours.

    >>> is_entry("package.module:function"), is_entry("mlp")
    (True, False)
    """
    return ":" in text


def load_entry(text: str, where: str = "The entry") -> Callable[..., Any]:
    """Import the function that `package.module:function` names.

    The module may be an installed one or lie in the current folder, which is added to the end of
    `sys.path` for good: nothing there can stand in for an installed module, and worker processes,
    which receive `sys.path` when they start, can import the function too. Importing a module runs
    it, so an entry deserves the trust that a program does.

    Args:
        text: The module and the name of something in it that can be called.
        where: The key the text was given for, for messages.

    Raises:
        SpecError: If there is no such function.

    >>> load_entry("math:sqrt")(9.0)
    3.0
    """
    module_name, separator, name = text.partition(":")
    parts = [*module_name.split("."), name]
    if not separator or not all(part.isidentifier() for part in parts):
        raise SpecError(f"{where} must have the form 'package.module:function', got {text!r}.")
    module = _import(module_name, f"{where} = {text!r}")
    origin = f"{where} = {text!r}: the module {_describe(module)}"
    if not hasattr(module, name):
        raise SpecError(f"{origin} has no {name!r}{_suggest(name, module)}")
    entry = getattr(module, name)
    if not callable(entry):
        kind = type(entry).__name__
        raise SpecError(f"{origin} has {name!r}, but that is of type {kind}, not a function.")
    return entry


def _import(name: str, what: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise SpecError(f"{what}: importing {name} failed: {error}; install it.") from error
        raise SpecError(
            f"{what}: there is no module {error.name!r}; run from the folder that holds it"
            f" (now {here}), or install it."
        ) from error
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SpecError(f"{what}: importing {name} raised {reason}; correct the module.") from error


def _describe(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return f"{module.__name__} ({file})" if file else module.__name__


def _suggest(name: str, module: ModuleType) -> str:
    """End a sentence with the nearest name of a function in the module, if there is one."""
    names = [key for key, value in vars(module).items() if key[0] != "_" and callable(value)]
    if not (near := nearest_names(name, names)) and not 0 < len(names) <= 8:
        return "."
    return "; " + did_you_mean(near, f"its functions are {', '.join(names)}.")
