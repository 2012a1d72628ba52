"""A spec for files that stay where they are: the schema that one of them suggests, or fits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedmgda._errors import DataError, SpecError
from fedmgda._paths import kind_of
from fedmgda._text import counted, listed, shown
from fedmgda.data import (
    FILE_COLUMN,
    FederationPart,
    GivenColumn,
    Table,
    group_sizes,
    guess_target,
    inspect_columns,
    part_of,
    read_own,
    read_raw,
)
from fedmgda.experiments._defaults import data_settings
from fedmgda.experiments._init import Proposal
from fedmgda.experiments._toml import toml_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedmgda.data import Column, RawTable
    from fedmgda.experiments._spec import Spec

__all__ = ["FEWEST_ROWS", "column_table", "local_part", "propose_schema"]

FEWEST_ROWS = 10
"""Of fewer rows a sum, or that there is such a category, can tell of a person."""


def propose_schema(
    path: Path | str,
    *,
    target: str | None = None,
    client: str | None = None,
    ignore: Sequence[str] = (),
    fewest: int = FEWEST_ROWS,
) -> Proposal:
    """Look at one of the files and write a spec that all files are read by.

    The file is described by what the guarded encoding would learn from. Categories and classes go
    into the spec, which everybody reads; so a category that few rows have is not listed. A class
    is, for the model has to tell it from others: the facts say how many few rows have.

    Args:
        path: A table, or a folder with one for each client.
        target: The column to predict; guessed if None.
        client: The column that says whose a row is; None makes each file a client.
        ignore: Columns that nothing should be learned from.
        fewest: How many rows a category must have to be listed.

    Raises:
        DataError: If the file cannot be read or trained on; the sentence says why.
    """
    path = Path(path)
    if kind_of(path) is None:
        raise DataError(f"There is no table {path}; check the name.")
    raw = read_raw(path)
    wanted, sure = target, True
    if wanted is None:
        guess = guess_target(raw, inspect_columns(raw), {client or "", FILE_COLUMN, *ignore})
        wanted, sure = guess.name, guess.sure
    if wanted is None:
        raise DataError(f"No column of {raw.name} can be a target; name one with --target.")
    settings = {"target": wanted, "client": client, "ignore": tuple(ignore), "min_rows": 3}
    table = read_own(path, settings | {"encoding": "guarded"})
    if not isinstance(table, Table):
        raise DataError(f"{raw.name} holds arrays, which have no columns to describe.")
    columns, empty = _columns(table, fewest)
    if not columns:
        raise DataError(
            f"No category of {raw.name} has {fewest} rows, so there is nothing to learn from; give "
            "fewer with --min-rows, or write fewer categories."
        )
    data = {"target": wanted} | ({} if client is None else {"client": client})
    facts = _facts(raw, table, columns, wanted, sure=sure)
    if rare := _rare_classes(raw, table, wanted, fewest):
        facts.append(("rare classes", rare))
    if left := [*(about.name for about in table.left_out), *empty]:
        facts.append(("left out", listed(map(shown, left), 12)))
    return Proposal(spec=_text(data, columns, table, facts), facts=tuple(facts), unsure=not sure)


def _columns(table: Table, fewest: int) -> tuple[list[GivenColumn], list[str]]:
    """Return the columns that are learned from, and those without a category to list."""
    kept, empty = [], []
    for column in table.columns:
        if column.categories is None:
            kept.append(GivenColumn(name=column.name, kind="number"))
            continue
        categories = _frequent(column, fewest)
        if categories:
            kept.append(GivenColumn(name=column.name, kind="category", categories=categories))
        else:
            empty.append(column.name)
    return kept, empty


def _frequent(column: Column, fewest: int) -> tuple[str, ...]:
    counts = np.bincount(column.values, minlength=len(column.categories or ()))
    named = zip(column.categories or (), counts.tolist(), strict=True)
    return tuple(name for name, count in named if count >= fewest and name != "missing")


def _facts(
    raw: RawTable, table: Table, columns: Sequence[GivenColumn], target: str, *, sure: bool
) -> list[tuple[str, str]]:
    listed_categories = sum(len(column.categories or ()) for column in columns)
    known = sum(
        len([name for name in column.categories or () if name != "missing"])
        for column in table.columns
    )
    doubt = "" if sure else ". NOT SURE: name another with --target"
    rare = known - listed_categories
    more = f"; {counted(rare, 'rarer one')} will count as missing" if rare else ""
    return [
        ("file", f"{raw.name}: {counted(len(raw.rows), 'row')}"),
        ("target", f"{shown(target)!r}: {_task(raw, table, target)}{doubt}"),
        ("columns", listed((shown(column.name) for column in columns), 12)),
        ("categories", f"{listed_categories} are listed{more}"),
        ("disclosed", "the names of columns, categories and classes, to whoever gets the spec"),
    ]


def _task(raw: RawTable, table: Table, target: str) -> str:
    if table.class_names is None:
        return "numbers, so a regression"
    name, count = min(group_sizes(raw, target).items(), key=lambda pair: pair[1])
    return f"{len(table.class_names)} classes, the rarest {shown(name)!r} with {count}"


def _rare_classes(raw: RawTable, table: Table, target: str, fewest: int) -> str:
    """Say how many classes few rows have; each is listed, for the model has to tell them apart."""
    if table.class_names is None:
        return ""
    rare = sum(count < fewest for count in group_sizes(raw, target).values())
    if not rare:
        return ""
    return (
        f"{rare} of fewer than {fewest} rows, listed all the same: whoever gets the spec reads "
        "what so few have; write them as one class before, or leave those rows out"
    )


def _text(
    data: dict[str, str],
    columns: Sequence[GivenColumn],
    table: Table,
    facts: Sequence[tuple[str, str]],
) -> str:
    lines = [f"# {_printable(dict(facts)['file'])}. Every node reads its own file by this spec."]
    lines += [
        "# Every key not given here has a default; what it means: fedmgda explain KEY.",
        "",
        "[data]",
    ]
    lines += [f"{key} = {toml_value(value)}" for key, value in data.items()]
    if "client" not in data:
        lines.append("# Each file is one client; its name is that of the client.")
    lines += ["", "[data.schema]"]
    if table.class_names is not None:
        lines.append(f"classes = {toml_value(list(table.class_names))}")
    lines.append('unknown = "missing"  # or "refuse": a category that is not listed')
    lines.append("columns = [")
    lines += [f"    {toml_value(column_table(column))}," for column in columns]
    lines += ["]", "", "[rule]", 'name = "fedmgda+"']
    return "\n".join(lines) + "\n"


def column_table(column: GivenColumn) -> dict[str, Any]:
    """Return a column as a spec writes it."""
    table: dict[str, Any] = {"name": column.name, "kind": column.kind}
    return table if column.categories is None else table | {"categories": list(column.categories)}


def _printable(text: str) -> str:
    """Return a text that cannot end a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def local_part(
    spec: Spec, path: Path | str, *, name: str | None = None, fewest: int = FEWEST_ROWS
) -> FederationPart:
    """Read the file of one place by the schema of a resolved spec.

    Args:
        spec: The spec; its own `data.path` is not read.
        path: A table, or a folder with one for each client.
        name: What the one client is called, where no column and no folder says; None takes the
            name of the file.
        fewest: Clients with fewer rows are left out, whatever the spec says.

    Raises:
        SpecError: If the spec has no schema, or deals rows to clients that it makes up.
        DataError: If the file is not what the schema says, or nobody has enough rows.
    """
    path = Path(path)
    if spec.data.schema is None or spec.data.partition != "natural":
        raise SpecError(
            "A node with a file of its own needs a spec with data.schema and without "
            "data.partition; make one with: fedmgda flower schema FILE."
        )
    table = read_own(path, {**data_settings(spec.data), "path": str(path)})
    if not isinstance(table, Table):
        raise DataError(f"{path.name} holds arrays, which have no columns.")
    least = max(fewest, spec.data.min_rows or 0)
    how: Any = spec.data.local_split or "shuffled"
    return part_of(table, name=name or path.stem, min_rows=least, seed=spec.seed, how=how)
