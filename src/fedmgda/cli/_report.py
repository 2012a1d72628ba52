"""The command that makes a page of runs, to be looked at."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fedmgda._errors import StoreError
from fedmgda._files import is_there, write_file
from fedmgda.cli._console import err, escape, note, out, say
from fedmgda.cli._places import check_place
from fedmgda.report.page import Page, build_page, is_page

__all__ = ["report"]

_SECONDS = 5  # between two pages of a run that goes on
_SENTENCES = 4  # that are printed; the page has all


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, or folders of runs.", metavar="RUN...")
    ],
    page: Annotated[
        Path, typer.Option("--out", "-o", help="The page, an HTML file.")
    ] = Path("report.html"),
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="accuracy, auc, log_loss, rmse, ...; by the task."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Write it anew while the runs go on.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is no report.")
    ] = False,
) -> None:  # fmt: skip
    """Look at runs: one HTML page, with verdicts, charts and numbers, that needs no network."""
    check_place(page, "--out", suffix=".html")
    if is_there(page) and not force and not is_page(page):
        raise StoreError(
            f"{page} exists and is no report; choose another --out, or write over it with --force."
        )
    made = _write(runs, page, metric, refresh=_SECONDS if follow else None)
    if show:
        webbrowser.open(page.resolve().as_uri())
    if follow:
        made = _follow(runs, page, metric, made)
    _tell(made, page)
    if made.broken:
        raise typer.Exit(StoreError.exit_code)


def _write(
    runs: list[Path],
    page: Path,
    metric: str | None,
    *,
    refresh: int | None = None,
    before: Page | None = None,
) -> Page:
    made = build_page(runs, metric=metric, refresh=refresh, before=before)
    write_file(page, made.html.encode())
    return made


def _follow(runs: list[Path], page: Path, metric: str | None, made: Page) -> Page:
    """Write the page anew until no run goes on; Ctrl-C ends it, with a last page that rests."""
    try:
        while made.going_on:
            say(err, escape(f"{page}: {made.waiting}"))
            time.sleep(_SECONDS)
            made = _write(runs, page, metric, refresh=_SECONDS, before=made)
    except KeyboardInterrupt:
        made = _write(runs, page, metric, before=made)
    return made


def _tell(made: Page, page: Path) -> None:
    note(made.broken)
    if made.waiting:
        say(out, escape(made.waiting))
    told = list(made.conclusions.items())
    for name, sentence in told[:_SENTENCES]:
        say(out, f"{escape(name)}: [bold]{escape(sentence)}[/]")
    if len(told) > _SENTENCES:
        say(out, f"The page has {len(told) - _SENTENCES} more verdicts.")
    size = page.stat().st_size / 1e6
    say(out, f"Page: {escape(str(page))} ({size:.1f} MB); open it in a browser.")
