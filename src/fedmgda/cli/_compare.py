"""The command that tells who is better off."""

from __future__ import annotations

import shlex
from pathlib import Path  # noqa: TC003 (read at run time)
from typing import Annotated

import typer

from fedmgda._errors import StoreError
from fedmgda._files import is_there, write_file
from fedmgda.cli._compare_screen import show_comparison
from fedmgda.cli._console import note, out
from fedmgda.cli._places import check_place
from fedmgda.experiments import compare_runs, comparison_csv, is_comparison_csv, to_json

__all__ = ["compare", "report_comparison"]


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders, or folders of runs; the first run is compared.",
                       metavar="RUN..."),
    ],
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="accuracy, auc, log_loss, rmse, ...; by the task."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="Only this one: a run, alone, pooled or constant."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", help="Write every client to a CSV file.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is no comparison.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON, nothing else.")
    ] = False,
) -> None:  # fmt: skip
    """Ask who is better off: the first run against the others, client by client, row by row."""
    if table is not None:
        _check_table(table, force=force)
    report_comparison(runs, metric=metric, against=against, table=table, as_json=as_json)


def _check_table(table: Path, *, force: bool) -> None:
    """Refuse to write over anything but an earlier comparison."""
    check_place(table, "--csv")
    if is_there(table) and not force and not is_comparison_csv(table):
        raise StoreError(
            f"{table} exists and is no comparison; choose another --csv, or write over it with "
            "--force."
        )


def report_comparison(
    runs: list[Path],
    *,
    metric: str | None = None,
    against: str | None = None,
    table: Path | None = None,
    as_json: bool = False,
    scorer: Path | None = None,
) -> None:
    """Compare runs, and say what was found where it was asked for.

    Args:
        runs: Run folders, or folders of runs.
        metric: Its name.
        against: The run to compare with.
        table: The CSV file to write.
        as_json: Whether nothing but the comparison is printed, as JSON.
        scorer: A run whose model may be used next, on new rows.
    """
    found = compare_runs(runs, metric=metric, against=against)
    if table is not None:
        write_file(table, comparison_csv(found).encode())
    if as_json:
        out.print_json(to_json(found))
        return
    note(found.notes)
    options = ["--against", against] if against else []
    command = shlex.join(["fedmgda", "compare", *map(str, runs), *options])
    show_comparison(found, command, scorer, named=metric is not None)
