"""Spec and environment of the runs, and where their specs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._text import listed
from fedmgda.experiments import to_toml
from fedmgda.report.page._html import Markup, element, joined, plain_table
from fedmgda.report.page._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.report.page._source import Source
    from fedmgda.report.page._table import Cell

__all__ = ["about_runs"]


def about_runs(source: Source) -> Markup:
    """Return spec and environment of every group, and where their specs differ."""
    specs = {group.name: to_toml(group.first.run.spec) for group in source.groups}
    keys = {name: dict(_keys(text)) for name, text in specs.items()}
    everything = list(dict.fromkeys(key for mine in keys.values() for key in mine))
    differing = [k for k in everything if len({mine.get(k) for mine in keys.values()}) > 1]
    parts = [
        element(
            "details",
            element("summary", f"spec.toml of {name}"),
            element("pre", text, tabindex="0"),
        )
        for name, text in specs.items()
    ]
    different = None
    if differing:
        rows = tuple((name, *(mine.get(k) for k in differing)) for name, mine in keys.items())
        different = plain_table(
            Table(
                name="differences",
                title="Where the specs differ",
                columns=("run", *differing),
                rows=rows,
            )
        )
    return joined([different, *parts, _environments(source)])


def _keys(toml: str) -> Iterator[tuple[str, str]]:
    """Yield every key of a resolved spec, which has one on a line, with its section."""
    section = ""
    for line in toml.splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
        elif " = " in line:
            key, _, value = line.partition(" = ")
            yield section + key, value


def _runs(names: list[str], source: Source) -> str:
    every = len(names) == len(source.groups) > 1
    return "all" if every else listed(names, 6)


def _environments(source: Source) -> Markup:
    alike: dict[tuple[Cell, ...], list[str]] = {}
    for group in source.groups:
        found = group.first.run.environment
        versions = ", ".join(f"{name} {told}" for name, told in (found.packages or {}).items())
        place = (
            found.format, found.python, found.platform, found.machine, found.cores, found.path,
            found.commit, versions,
        )  # fmt: skip
        alike.setdefault(place, []).append(group.name)
    rows = [(_runs(names, source), *place) for place, names in alike.items()]
    columns = (
        "run", "format", "python", "system", "processor", "cores", "computed by", "commit",
        "packages",
    )  # fmt: skip
    title = "Where the runs were made"
    return plain_table(Table(name="environments", title=title, columns=columns, rows=tuple(rows)))
