"""`fedmgda data`: see, fetch, verify and import data sets."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress as Bar,
    TextColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from fedmgda._errors import DataError
from fedmgda.cli._console import err, escape, out, say
from fedmgda.data import (
    DATASETS,
    cache_root,
    fetch as fetch_dataset,
    find_origin,
    import_folder,
    is_cached,
    verify as verify_dataset,
)

if TYPE_CHECKING:
    from fedmgda.data import Dataset, Origin, Step, Verification

__all__ = ["data_app"]

data_app = typer.Typer(
    name="data", help="See, fetch, verify and import data sets.", no_args_is_help=True
)

_EVERY = 5.0  # seconds between plain lines


def _names() -> list[str]:
    return [dataset.name for dataset, _ in _fetchable()]


Name = Annotated[
    str, typer.Argument(help="A data set of the list.", metavar="NAME", autocompletion=_names)
]
FromPath = Annotated[Path, typer.Argument(help="A folder or a file.", metavar="PATH")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]


@data_app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """Show what exists: size, licence, sources, and what is in the cache."""
    if as_json:
        entries = [_entry(dataset, origin) for dataset, origin in _fetchable()]
        out.print_json(json.dumps({"cache": str(cache_root()), "datasets": entries}))
        return
    out.print(_datasets_table())
    say(out, f"The cache is {escape(str(cache_root()))}")
    rest = ", ".join(dataset.name for dataset in DATASETS.values() if dataset.origin is None)
    say(out, f"Used without fetching: {rest}")


@data_app.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(help="Data sets of the list.", metavar="NAME...", autocompletion=_names),
    ],
) -> None:
    """Bring data sets into the cache from the first source that answers, and check them."""
    for name in names:
        find_origin(name)  # a misspelt name is refused before anything is fetched
    for name in names:
        with _News() as news:
            folder = fetch_dataset(name, news.show)
        say(out, f"{name}: {escape(str(folder))}")


@data_app.command()
def verify(name: Name, as_json: AsJson = False) -> None:
    """Read a cached data set again and compare it with the published checksums."""
    found = verify_dataset(name)
    if as_json:
        out.print_json(json.dumps(_as_json(found)))
    else:
        _show(found)
    if not found.ok:
        wrong = next(check for check in found.checks if not check.ok)
        raise DataError(
            f"{wrong.file} in {found.folder}: {wrong.kind} {wrong.found}, expected "
            f"{wrong.expected}; bring {name} into the cache again (fedmgda data fetch or import)."
        )


@data_app.command("import")
def import_files(name: Name, path: FromPath) -> None:
    """Take official files you already have into the cache."""
    folder = import_folder(name, path)
    say(out, f"{name}: {escape(str(folder))}")


class _News:
    """Shows the steps of a fetch: notes as lines, transfers as a bar where there is a terminal."""

    def __init__(self) -> None:
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self._task = self._bar.add_task("", visible=False)
        self._last = time.monotonic()

    def __enter__(self) -> _News:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, step: Step) -> None:
        """Show one step."""
        if not step.done:
            self._bar.update(self._task, visible=False)
            say(err, escape(step.text))
            return
        self._bar.update(
            self._task,
            description=step.text,
            completed=step.done,
            total=step.total,
            visible=True,
        )
        if not err.is_terminal and time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            total = f" of {step.total / 1e6:.0f}" if step.total else ""
            say(err, f"{step.text}: {step.done / 1e6:.0f}{total} MB")


def _fetchable() -> list[tuple[Dataset, Origin]]:
    """Return the data sets that are kept in the cache."""
    return [(dataset, dataset.origin) for dataset in DATASETS.values() if dataset.origin]


def _datasets_table() -> Table:
    """Show the data sets in columns that are at least as wide as their longest word."""
    rows = [("name", "what", "size", "licence", "sources", "cached")]
    for dataset, origin in _fetchable():
        size = f"{origin.size / 1e6:.0f} MB" if origin.size else "–"
        cached = "yes" if is_cached(dataset.name) else "no"
        places = ", ".join(source.name for source in origin.sources) or "import only"
        rows.append((dataset.name, dataset.title, size, dataset.licence, places, cached))
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for cells in zip(*rows, strict=True):
        widest = max(len(word) for cell in cells for word in cell.split())
        justify: Literal["left", "right"] = "right" if cells[0] == "size" else "left"
        short = cells[0] in {"name", "size", "cached"}
        table.add_column(cells[0], justify=justify, min_width=widest, no_wrap=short)
    for row in rows[1:]:
        table.add_row(*row)
    return table


def _entry(dataset: Dataset, origin: Origin) -> dict[str, object]:
    return {
        "name": dataset.name,
        "what": dataset.title,
        "federation": dataset.federation,
        "bytes": origin.size,
        "licence": dataset.licence,
        "home": origin.home,
        "sources": [source.name for source in origin.sources],
        "cached": is_cached(dataset.name),
    }


def _as_json(found: Verification) -> dict[str, object]:
    return {
        "name": found.name,
        "folder": str(found.folder),
        "source": found.source,
        "ok": found.ok,
        "checks": [
            {
                "file": check.file,
                "kind": check.kind,
                "expected": check.expected,
                "found": check.found,
                "ok": check.ok,
            }
            for check in found.checks
        ],
    }


def _show(found: Verification) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("", "file", "kind", "checksum"):
        table.add_column(name, overflow="fold")
    for check in found.checks:
        table.add_row(
            "ok" if check.ok else "BAD", escape(check.file), check.kind, escape(check.found)
        )
    out.print(table)
    verdict = "is what it should be" if found.ok else "is damaged"
    say(
        out,
        f"{found.name} in {escape(str(found.folder))} {verdict}; it came from "
        f"{escape(found.source)}.",
    )
