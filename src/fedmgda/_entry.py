"""A function of the user's own, named in a spec: `package.module:function`."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, nearest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

__all__ = ["check_options", "is_entry", "load_entry"]


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


def check_options(
    function: Callable[..., Any], options: Mapping[str, Any], name: str, where: str
) -> None:
    """Refuse options that a function does not take, or lacks, as keyword arguments.

    Args:
        function: The function.
        options: The values by name.
        name: What the spec calls the function, for messages.
        where: The key of the options, for messages.

    Raises:
        SpecError: At the first option that is not an argument, or argument that is no option.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions written in C do not tell
        return
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    known = [parameter.name for parameter in parameters if parameter.kind in by_name]
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    for key in options:
        if key not in known and not takes_any:
            takes = f"it takes {', '.join(known)}." if known else "it takes no arguments."
            hint = did_you_mean(nearest_names(key, known), takes)
            raise SpecError(f"{where}.{key} is no argument of {name!r}; {hint}")
    for parameter in parameters:
        required = parameter.kind in by_name and parameter.default is inspect.Parameter.empty
        if required and parameter.name not in options:
            raise SpecError(
                f"{name!r} needs the argument {parameter.name!r}; give it as "
                f"{where}.{parameter.name}."
            )


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
