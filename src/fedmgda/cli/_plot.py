"""`fedmgda data plot`: who holds what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedmgda._errors import SpecError
from fedmgda._paths import is_folder
from fedmgda.cli._console import escape, note, out, say
from fedmgda.experiments import (
    Spec,
    build_data,
    open_run,
    parse,
    read_toml,
    resolve,
    to_table,
    with_overrides,
)
from fedmgda.report import partition_heatmap, write_picture

__all__ = ["plot"]


def plot(
    source: Annotated[
        Path, typer.Argument(help="A run folder or a spec, a TOML file.", metavar="RUN|SPEC.TOML")
    ],
    picture: Annotated[
        Path, typer.Option("--out", "-o", help="The picture: png, pdf or svg.")
    ] = Path("partition.png"),
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="KEY=VALUE", help="Override a key."),
    ] = None,
) -> None:
    """Draw the partition: how many examples of each label each client trains on."""
    if picture.suffix.lower() not in {".png", ".pdf", ".svg"}:
        raise SpecError(f"The picture must end in .png, .pdf or .svg, got {str(picture)!r}.")
    run = open_run(source) if is_folder(source) else None
    table = read_toml(source) if run is None else to_table(run.spec)
    table = {key: value for key, value in table.items() if key != "sweep"}
    if run is not None and not config:
        # As it stands: a key that an old run does not have means what was done before it existed.
        data, notes = build_data(run.spec)
        run.check_data(data)
    else:
        data, notes = build_data(resolve(parse(Spec, with_overrides(table, config or []))))
    note(notes)
    figure = partition_heatmap(data)
    write_picture(figure, picture, dpi=150)
    say(out, f"{data.num_clients} clients of {escape(data.name)}: {escape(str(picture))}")
