"""Write the reference pages that the code knows: keys, exit codes, words, commands, API.

python scripts/write_reference.py     # docs/{keys,exit-codes,words,commands,api}.md
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.main import get_command

import fedmgda
from fedmgda.cli._app import app
from fedmgda.cli._exit_codes import EXIT_CODES
from fedmgda.cli._words import WORDS
from fedmgda.experiments import spec_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.cli._exit_codes import ExitCode
    from fedmgda.cli._words import Word
    from fedmgda.experiments import SpecKey

DOCS = Path(__file__).parents[1] / "docs"

KEYS = """# Keys of a spec

A run is a TOML file; a sweep or a comparison is many. This is the whole vocabulary: what each key may be, what it is if nobody says so, and what it does. `fedmgda run spec.toml --dry-run` prints a spec resolved, with every default filled in, and `fedmgda explain rule.epsilon` says the same in the terminal. This page is written from the code (`scripts/write_reference.py`), and a test holds it to it.

Paths are relative to the folder the command runs in. A key that would be ignored is refused. `-c section.key=value` overrides a key; naming another rule or attack leaves the options of the old one behind. What the keys compute, and why the defaults are what they are: [specification](specification.md); what a run leaves behind: [runs](runs.md).
"""

CODES = """# Exit codes

Every command ends with one of these codes, and on failure with one sentence on standard error that names the value, the place and the remedy. They do not change between versions. `fedmgda explain 6` says what a code means. This page is written from the code (`scripts/write_reference.py`), and a test holds it to it.

| code | meaning |
|--:|---|
"""

CODES_END = """
From Python the same failures are exceptions, all subclasses of `FedmgdaError`, each with its code as `exit_code`.
"""

WORDS_HEAD = """# Words

What is meant by the words on screens, in records and on these pages. `fedmgda explain sacrificed` says the same in the terminal; it knows every [key](keys.md), rule, metric and [exit code](exit-codes.md) as well. Letters and their names in the code: [symbols](symbols.md). This page is written from the code (`scripts/write_reference.py`), and a test holds it to it.
"""

COMMANDS = """# Commands

Every command, argument and option, written from the code (`scripts/write_reference.py`; a test holds this page to it). Each ends with one of the [exit codes](exit-codes.md): 0 if it is done, and else with one sentence on standard error.
"""

API = """# Python

Every public name of `import fedmgda`, with what its docstring says; examples in them are run by the tests. Names are loaded when they are first used, so importing the package costs nothing. `fedmgda.flower` is apart: [on Flower](flower.md#an-app-of-your-own). This page lists what the package exports (`scripts/write_reference.py`); the text stands in the code, and is on the built site (`make docs`) and in `help(fedmgda.train)`.
"""

TITLES = {
    "experiments": "Train, read and check a run",
    "rules": "Rules",
    "minnorm": "The solver",
    "values": "What crosses layers",
    "federation": "The engine",
    "clients": "Clients",
    "data": "Data",
    "attacks": "Attacks",
    "metrics": "Metrics",
    "_errors": "Errors",
}


def keys_page() -> str:
    """Return the page of all keys."""
    parts = [KEYS]
    for table in spec_tables():
        title = f"`[{table.name}]`" if table.name else "The run itself"
        parts.append(f"## {title}\n\n{table.meaning}\n")
        parts += [_key(key) for key in table.keys]
    return "\n".join(parts)


def _key(key: SpecKey) -> str:
    default = key.default if "`" in key.default or " " in key.default else f"`{key.default}`"
    default = "none" if key.default == "none" else default
    lines = [f"### `{key.path}`", "", key.meaning, ""]
    lines += [f"- May be: {_quoted(key.kind)}", f"- Default: {default}"]
    if key.see:
        lines.append(f"- More: [{_page_of(key.see)}]({key.see})")
    return "\n".join([*lines, ""])


def _page_of(link: str) -> str:
    """Return what a link to a page is called.

    >>> _page_of("runs.md#the-verdict"), _page_of("rules/index.md")
    ('runs', 'rules')
    """
    name = link.partition("#")[0].removesuffix(".md").removesuffix("/index")
    return name.rpartition("/")[2]


def _quoted(kind: str) -> str:
    """Write the names of a type as code.

    >>> _quoted("a number or 'full'")
    'a number or `"full"`'
    """
    text = re.sub(r"'([^']+)'", r'`"\1"`', kind)
    return text.replace("package.module:name", '`"package.module:name"`')


def codes_page() -> str:
    """Return the page of all exit codes."""
    rows = [
        f"| [{code}](#exit-code-{code}) | {about.meaning} |" for code, about in EXIT_CODES.items()
    ]
    return "\n".join([CODES + "\n".join(rows), CODES_END, *map(_code, EXIT_CODES.values())])


def _code(about: ExitCode) -> str:
    lines = [
        f"## Exit code {about.code}",
        "",
        f"{about.meaning[0].upper()}{about.meaning[1:]}.",
        "",
    ]
    lines.append(f"- Example: {about.example}")
    if about.remedy:
        lines.append(f"- Remedy: {about.remedy}")
    if about.error:
        lines.append(f"- From Python: `fedmgda.{about.error.__name__}`")
    return "\n".join([*lines, ""])


def words_page() -> str:
    """Return the page of all words."""
    parts = [WORDS_HEAD]
    for title, words in WORDS.items():
        parts += [f"## {title}\n", *map(_word, words)]
    return "\n".join(parts)


def _word(word: Word) -> str:
    return f"### {word.name}\n\n{word.meaning} More: [{_page_of(word.see)}]({word.see}).\n"


def commands_page() -> str:
    """Return the page of all commands, in the groups of the first help."""
    parts = [COMMANDS]
    group: Any = get_command(app)
    for panel, commands in group.panels().items():
        parts.append(f"## {panel}\n")
        for name, command in commands.items():
            parts += _commands(command, f"fedmgda {name}")
    return "\n".join(parts)


def _commands(command: Any, path: str) -> Iterator[str]:
    yield f"### `{path}`\n\n{command.help}\n"
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, f"{path} {name}")
        return
    rows = [_parameter(param) for param in command.params if param.name != "help"]
    if rows:
        yield "\n".join([*rows, ""])


def _parameter(param: Any) -> str:
    if param.param_type_name == "argument":
        optional = "" if param.required else " (optional)"
        return f"- `{param.human_readable_name}`{optional}: {param.help}"
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    value = "" if param.is_flag else f" `{param.metavar or param.type.name.upper()}`"
    shown = param.default if isinstance(param.default, str | int | float | Path) else None
    default = "" if param.is_flag or shown is None else f" (`{shown}` by default)"
    return f"- {names}{value}: {param.help}{default}"


def api_page() -> str:
    """Return the page of all public names, by the package they live in."""
    homes: dict[str, list[str]] = {home: [] for home in TITLES}
    for name in sorted(set(fedmgda.__all__) - {"__version__"}):
        homes[str(_named(name).__module__).split(".")[1]].append(name)
    parts = [API]
    for home, title in TITLES.items():
        parts.append(f"## {title}\n\n```{{eval-rst}}")
        functions_first = sorted(homes[home], key=lambda name: isinstance(_named(name), type))
        parts += [_directive(name) for name in functions_first]
        parts.append("```\n")
    return "\n".join(parts)


def _named(name: str) -> Any:
    return getattr(fedmgda, name)


def _directive(name: str) -> str:
    if isinstance(_named(name), type):
        return f".. autoclass:: fedmgda.{name}\n   :members:\n"
    return f".. autofunction:: fedmgda.{name}\n"


PAGES = {
    "keys.md": keys_page,
    "exit-codes.md": codes_page,
    "words.md": words_page,
    "commands.md": commands_page,
    "api.md": api_page,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
