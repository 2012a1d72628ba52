"""`fedmgda reproduce`: the tables and figures of the paper, run, resumed and compared."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 (typer reads the annotations)
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from fedmgda._errors import SpecError
from fedmgda.cli._console import err, out, say
from fedmgda.cli._options import NoCode, refuse_others, require_folders
from fedmgda.cli._progress import leave_if_failed, watch_jobs
from fedmgda.cli._studies import print_list, print_report, print_theory
from fedmgda.experiments import Collection, inert_decay, refuse_code
from fedmgda.paper import (
    STUDIES,
    Setting,
    default_folder,
    export_study,
    load_study,
    open_published,
    parse_seeds,
    plan_study,
    published_results,
    run_command,
    write_report,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedmgda.paper import Report, Study

__all__ = ["reproduce"]


def _names() -> list[str]:
    return ["list", *STUDIES]


def reproduce(  # noqa: PLR0913, PLR0917 (one for each option of the command)
    name: Annotated[
        str,
        typer.Argument(help="A table or figure, or: list", metavar="ID", autocompletion=_names),
    ],
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="N|A-B",
            help="How many seeds, or from which to which; the paper's if not given.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", min=1, help="How many rounds; this moves the decay as well."),
    ] = None,
    compat: Annotated[
        str | None,
        typer.Option("--compat", help="Follow the text: paper, if not given; or: released-code."),
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--row",
            "-r",
            help='Run this row alone, as in -r "FedAvg" or, of a grid, -r "c = 10"; may be '
            "repeated.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="KEY=VALUE", help="Change a key of the spec."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder; runs/reproduce/ID-COMPAT if not given."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Runs at the same time; all cores if not given."),
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Run nothing; report what has been run so far.")
    ] = False,
    publish: Annotated[
        Path | None, typer.Option("--publish", help="Also copy the result, compressed, to here.")
    ] = None,
    kept: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Count the finished runs published here, and do not run them; may be repeated.",
        ),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="With list: time three rounds of each study first.")
    ] = False,
    no_code: NoCode = False,
) -> None:
    """Run a table or figure of the paper, or go on with it, and compare; `list` shows them."""
    options = {
        "--seeds": seeds, "--rounds": rounds, "--compat": compat, "--row": rows,
        "--config": config, "--out": folder, "--jobs": jobs, "--report": report,
        "--publish": publish, "--from": kept, "--measure": measure, "--no-code": no_code,
    }  # fmt: skip
    followed = _compat(compat)
    study = None if name == "list" else load_study(name)
    refuse_others(name, options, _applicable(study, options))
    setting = Setting(
        compat=followed,
        seeds=None if seeds is None else parse_seeds(seeds),
        rounds=rounds,
        rows=tuple(rows or ()),
        changes=tuple(config or ()),
    )
    if study is None:
        print_list(setting, measure=measure)
        return
    require_folders({"--out": folder, "--publish": publish})
    if study.kind == "theory":
        _theory([path for path in (folder, publish) if path] or [default_folder(study, setting)])
        return
    folder = folder or default_folder(study, setting)
    runs = plan_study(study, setting)
    for planned in runs if no_code else ():
        refuse_code(planned.spec)
    for note in dict.fromkeys(note for run in runs if (note := inert_decay(run.spec))):
        say(err, f"[yellow]Note:[/] {escape(note)}")
    published = [open_published(path) for path in kept or ()]
    counted = {result.run.folder_name for result in published_results(runs, published)}
    if counted:
        say(err, f"{len(counted)} of {len(runs)} runs are taken from what is published.")
    left = [run for run in runs if run.folder_name not in counted]
    collection = None if report else Collection(folder, left)
    cores = jobs or os.cpu_count() or 1
    states = watch_jobs(collection, cores, quiet=False) if collection and left else []
    written = write_report(study, setting, folder, published)
    _show(study, setting, written, folder, publish, kept or ())
    if collection is not None:
        leave_if_failed(collection, states)


def _applicable(study: Study | None, options: Iterable[str]) -> set[str]:
    """Return the options that mean something to a study; None is the list of all."""
    if study is None:
        return {"--compat", "--measure"}
    return {"--out", "--publish"} if study.kind == "theory" else {*options} - {"--measure"}


def _compat(given: str | None) -> Literal["paper", "released-code"]:
    match given:
        case None | "paper":
            return "paper"
        case "released-code":
            return "released-code"
        case _:
            raise SpecError(f"--compat must be 'paper' or 'released-code', got {given!r}.")


def _theory(folders: Sequence[Path]) -> None:
    """Try the theorems, and end with an error if a claim we hold to be right does not hold."""
    from fedmgda.paper.theory import theory_checks, write_theory  # noqa: PLC0415 (rarely needed)

    checks = theory_checks()
    files = [file for folder in folders for file in write_theory(checks, folder)]
    print_theory(checks, files)
    if not all(check.holds for check in checks if not check.as_printed):
        raise typer.Exit(1)


def _show(
    study: Study,
    setting: Setting,
    written: Report,
    folder: Path,
    publish: Path | None,
    kept: Sequence[Path],
) -> None:
    """Print the report of what has been run, and copy it where it is kept."""
    print_report(study, setting, written)
    if publish is not None:
        copies = export_study(study, setting, written, publish)
        size = sum(path.stat().st_size for path in copies)
        say(out, escape(f"Published in {publish}: {len(copies)} files, {size:,} bytes."))
    if sum(result.done for result in written.results) < written.planned:
        words = [run_command(study, setting, folder), *(f"--from {quote(str(p))}" for p in kept)]
        say(err, f"Some runs are not finished; go on with: {escape(' '.join(words))}")
