"""`fedmgda init`: from a file to a spec that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fedmgda._errors import StoreError
from fedmgda._files import RefusedWriteError, is_there, write_file
from fedmgda.cli._console import escape, out
from fedmgda.cli._places import check_place
from fedmgda.experiments import propose_spec

__all__ = ["init"]


def init(
    file: Annotated[
        Path, typer.Argument(help="A csv, tsv, parquet or npz file, or a folder.", metavar="FILE")
    ],
    client: Annotated[
        str | None, typer.Option(help="The column that says whose a row is; else it is guessed.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; else it is guessed.")
    ] = None,
    spec: Annotated[
        Path | None, typer.Option("--out", "-o", help="The spec; FILE with .toml if not given.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a spec that exists.")] = False,
) -> None:
    """Look at a file of your own and write a spec for it."""
    place = spec or Path(file.resolve().name or "root").with_suffix(".toml")
    check_place(place, "--out", suffix=".toml")
    if is_there(place) and not force:
        raise StoreError(f"{place} exists; choose another --out, or write over it with --force.")
    found = propose_spec(file, client=client, target=target)
    try:
        write_file(place, found.spec.encode())
    except RefusedWriteError as error:
        raise StoreError(f"{error} Choose another place with --out.") from error
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for head, text in found.facts:
        table.add_row(head, escape(text))
    out.print(table)
    if found.unsure:
        out.print("Guesses: check what is NOT SURE, or say --client NAME, --target NAME.")
    out.print(f"The spec is {escape(str(place))}. Next:", soft_wrap=True)
    out.print(f"  fedmgda run {escape(str(place))} --compare", soft_wrap=True, highlight=False)
