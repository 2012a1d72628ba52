"""`fedmgda flower schema`: from one file to a spec for files that stay where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fedmgda._errors import StoreError
from fedmgda._files import RefusedWriteError, is_there, write_file
from fedmgda._text import counted
from fedmgda.cli._console import escape, note, out
from fedmgda.cli._places import check_place
from fedmgda.experiments import (
    FEWEST_ROWS,
    Spec,
    local_part,
    parse,
    propose_schema,
    read_toml,
    resolve,
    unlisted_notes,
)

__all__ = ["schema"]


def schema(  # noqa: PLR0913, PLR0917 (one for each option of the command)
    file: Annotated[
        Path, typer.Argument(help="A csv, tsv or parquet file, or a folder.", metavar="FILE")
    ],
    target: Annotated[
        str | None, typer.Option(help="The column to predict; else it is guessed.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(help="The column that says whose a row is; else each file is a client."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column that nothing should be learned from.")
    ] = None,
    min_rows: Annotated[
        int, typer.Option(min=1, help="How many rows a category must have to be listed.")
    ] = FEWEST_ROWS,
    spec: Annotated[
        Path | None, typer.Option("--out", "-o", help="The spec; FILE with .toml if not given.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a spec that exists.")] = False,
    check: Annotated[
        Path | None,
        typer.Option(metavar="SPEC.TOML", help="Write nothing: say whether FILE fits this spec."),
    ] = None,
) -> None:
    """Describe a file, so that nodes with such files of their own can train together.

    The spec lists columns, categories and classes. Nothing leaves this machine but what you send;
    whoever gets the spec reads these names.
    """
    if check is not None:
        _check(file, check)
        return
    place = spec or Path(file.resolve().name or "root").with_suffix(".toml")
    check_place(place, "--out", suffix=".toml")
    if is_there(place) and not force:
        raise StoreError(f"{place} exists; choose another --out, or write over it with --force.")
    found = propose_schema(
        file, target=target, client=client, ignore=tuple(ignore or ()), fewest=min_rows
    )
    try:
        write_file(place, found.spec.encode())
    except RefusedWriteError as error:
        raise StoreError(f"{error} Choose another place with --out.") from error
    _print_facts(found.facts)
    out.print(f"The spec is {escape(str(place))}. At the other nodes:", soft_wrap=True)
    command = f"  fedmgda flower schema THEIR-FILE --check {escape(str(place))}"
    out.print(command, soft_wrap=True, highlight=False)


def _check(file: Path, place: Path) -> None:
    spec = resolve(parse(Spec, read_toml(place)))
    note(unlisted_notes(spec, file))
    part = local_part(spec, file)
    note(part.table.notes)
    train, validation, test = part.sizes.sum(axis=0).tolist()
    _print_facts(
        (
            ("file", f"{part.table.name} fits {place}"),
            ("clients", counted(len(part.client_names), "client")),
            ("rows", f"{train} to train, {validation} to validate, {test} to test on"),
            ("features", str(len(part.table.feature_names))),
        )
    )


def _print_facts(facts: tuple[tuple[str, str], ...]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for head, text in facts:
        table.add_row(head, escape(text))
    out.print(table)
