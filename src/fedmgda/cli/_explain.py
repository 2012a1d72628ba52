"""What a name means: a key or table of a spec, a rule, an attack, a word, an exit code."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from fedmgda._errors import SpecError
from fedmgda._text import did_you_mean, listed, nearest_names
from fedmgda.attacks import ATTACKS
from fedmgda.cli._console import escape, out, say
from fedmgda.cli._exit_codes import EXIT_CODES
from fedmgda.cli._words import SYMBOLS, WORDS
from fedmgda.data import DATASETS
from fedmgda.experiments import SpecKey, SpecTable, spec_keys, spec_tables, to_json
from fedmgda.metrics import METRICS
from fedmgda.models import MODELS
from fedmgda.rules import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedmgda.cli._exit_codes import ExitCode
    from fedmgda.metrics import Metric
    from fedmgda.rules import Preset

__all__ = ["explain"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What is said of one name, and what else is asked for when it is meant.

    Texts have code in backticks.
    """

    name: str
    what: str
    meaning: str
    facts: tuple[tuple[str, str], ...] = ()
    see: str = ""
    also: tuple[str, ...] = ()


def _names() -> list[str]:
    return list(dict.fromkeys(entry.name for entry in _entries()))


def explain(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="A key or table of a spec, a rule, attack, model, data set, metric, exit code, "
            "command or word.",
            metavar="NAME",
            autocompletion=_names,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")] = False,
) -> None:
    """Say what a key, a rule, a word or an exit code means."""
    entries = [*_entries(), *_command_entries(ctx)]
    found = _find(name, entries) if name is not None else [_overview()]
    if as_json:
        out.print_json(to_json([asdict(entry) for entry in found]))
        return
    for number, entry in enumerate(found):
        if number:
            out.print()
        _print(entry)


def _find(name: str, entries: list[_Entry]) -> list[_Entry]:
    """Return all that a name means, whatever its case.

    The last part of a key stands for the key, and so does what the key may be.
    """
    word = name.strip().casefold()
    ways: tuple[Callable[[_Entry], bool], ...] = (
        lambda entry: entry.name == name,
        lambda entry: entry.name.casefold() == word,
        lambda entry: _last(entry.name) == word or word in entry.also,
    )
    for is_meant in ways:
        if found := list(filter(is_meant, entries)):
            return found
    last = {part: entry.name for entry in entries for part in (*entry.also, _last(entry.name))}
    near = nearest_names(word, {entry.name for entry in entries}, count=3) or list(
        dict.fromkeys(last[part] for part in nearest_names(word, last, count=3))
    )
    hint = did_you_mean(near, "fedmgda explain lists the tables and what else there is.")
    raise SpecError(f"Nothing is called {name!r}; {hint}")


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _entries() -> Iterator[_Entry]:
    """Yield all that can be explained, the spec first."""
    yield from (_table_entry(table) for table in spec_tables() if table.name)
    yield from map(_key_entry, spec_keys().values())
    yield from (_rule_entry(name, preset) for name, preset in PRESETS.items())
    for name, attack in ATTACKS.items():
        text = (attack.__doc__ or "").partition("\n")[0]
        yield _Entry(name=name, what="an attack", meaning=text, see="specification.md#2-attacks")
    for name, model in MODELS.items():
        yield _Entry(name=name, what="a model", meaning=model.summary, see="keys.md#model")
    for name, data in DATASETS.items():
        facts = (("federation", data.federation), ("licence", data.licence))
        yield _Entry(name=name, what="data", meaning=data.title, facts=facts, see="data.md")
    yield from map(_metric_entry, METRICS.values())
    for word in chain.from_iterable(WORDS.values()):
        yield _Entry(
            name=word.name, what="a word", meaning=word.meaning, see=word.see, also=word.also
        )
    yield from map(_code_entry, EXIT_CODES.values())


def _command_entries(ctx: typer.Context) -> Iterator[_Entry]:
    """Yield the commands beside this one."""
    commands: dict[str, Any] = getattr(ctx.parent and ctx.parent.command, "commands", {})
    for name, command in commands.items():
        facts = (("options", f"`fedmgda {name} --help`"),)
        see = f"commands.md#fedmgda-{name}"
        yield _Entry(name=name, what="a command", meaning=command.help, facts=facts, see=see)


def _rule_entry(name: str, preset: Preset) -> _Entry:
    keys = [f"`rule.{option}`" for option in preset.options if f"rule.{option}" in spec_keys()]
    facts = (("keys", ", ".join(keys)),)
    see = f"rules/{name.replace('+', '-plus')}.md"
    return _Entry(name=name, what="a rule", meaning=preset.summary, facts=facts, see=see)


def _metric_entry(metric: Metric) -> _Entry:
    better = "larger" if metric.larger_is_better else "smaller"
    facts = (("better", better), ("not defined", metric.undefined))
    text, see = metric.meaning, "compare.md#metrics"
    return _Entry(name=metric.name, what="a metric", meaning=text, facts=facts, see=see)


def _code_entry(code: ExitCode) -> _Entry:
    error = f"`fedmgda.{code.error.__name__}`" if code.error else ""
    facts = (("example", code.example), ("remedy", code.remedy), ("from Python", error))
    return _Entry(
        name=str(code.code),
        what="an exit code",
        meaning=code.meaning,
        facts=tuple(fact for fact in facts if fact[1]),
        see=f"exit-codes.md#exit-code-{code.code}",
        also=(f"exit code {code.code}", f"code {code.code}", f"exit {code.code}"),
    )


def _key_entry(key: SpecKey) -> _Entry:
    facts = (("may be", key.kind), ("default", key.default))
    values = re.findall(r"'([^']+)'", key.kind)
    symbols = [symbol for symbol, path in SYMBOLS.items() if path == key.path]
    return _Entry(
        name=key.path,
        what="a key of a spec",
        meaning=key.meaning,
        facts=facts,
        see=key.see,
        also=(*values, *symbols),
    )


def _table_entry(table: SpecTable) -> _Entry:
    facts = tuple((key.path, _first_sentence(key.meaning)) for key in table.keys)
    return _Entry(name=table.name, what="a table of a spec", meaning=table.meaning, facts=facts)


def _overview() -> _Entry:
    tables = [table.name for table in spec_tables() if table.name]
    facts = (
        ("tables", listed(tables)),
        ("keys", "seed, rounds, compat, baseline, and those of the tables: rule.epsilon"),
        ("rules", listed(PRESETS)),
        ("attacks", listed(ATTACKS)),
        ("models", listed(MODELS)),
        ("data", listed(DATASETS)),
        ("metrics", listed(METRICS)),
        ("words", "on screens and in records: sacrificed, stalled, held, chance, worst 5 %, λ"),
        ("exit codes", listed(map(str, EXIT_CODES))),
    )
    what = "NAME may be"
    return _Entry(name="fedmgda explain NAME", what=what, meaning="one of these.", facts=facts)


def _first_sentence(text: str) -> str:
    """Return the first sentence of a text.

    >>> _first_sentence("How many rounds. More is better.")
    'How many rounds.'
    """
    return re.split(r"(?<=[.])\s(?=[A-Z`])", text, maxsplit=1)[0]


def _print(entry: _Entry) -> None:
    say(out, f"[bold]{escape(entry.name)}[/] ({entry.what}): {_marked(entry.meaning)}")
    for label, text in entry.facts:
        say(out, f"  {escape(label)}: {_marked(text)}")
    if entry.see:
        say(out, f"  more: docs/{entry.see}")


def _marked(text: str) -> str:
    """Return a text whose code is cyan instead of in backticks."""
    return re.sub(r"`([^`]+)`", r"[cyan]\1[/]", escape(text))
