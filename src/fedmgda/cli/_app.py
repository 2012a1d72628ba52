"""The commands, and how they end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import fedmgda
from fedmgda._entry import is_entry
from fedmgda._errors import SpecError
from fedmgda.cli._compare import compare
from fedmgda.cli._console import err, escape, note, out, say
from fedmgda.cli._data import data_app
from fedmgda.cli._demo import run_demo
from fedmgda.cli._endings import exit_code_of
from fedmgda.cli._exit_codes import NOT_LEARNED
from fedmgda.cli._explain import explain
from fedmgda.cli._flower import flower_app
from fedmgda.cli._grouped_help import DATA, LOOK, OWN, PAPER, RUN, GroupedHelp
from fedmgda.cli._header import header
from fedmgda.cli._init import init
from fedmgda.cli._options import NoCode, Overrides, SpecPath  # noqa: TC001 (read at run time)
from fedmgda.cli._plot import plot
from fedmgda.cli._predict import predict
from fedmgda.cli._progress import leave_if_failed, watch_jobs, watch_run
from fedmgda.cli._report import report
from fedmgda.cli._reproduce import reproduce
from fedmgda.cli._run_compare import chosen_seeds, run_compared
from fedmgda.cli._screen import print_screen
from fedmgda.cli._tables import rows_table
from fedmgda.cli._verify import verify
from fedmgda.experiments import (
    Collection,
    RunFolder,
    Settled,
    Spec,
    execute,
    open_run,
    parse,
    plan_sweep,
    read_toml,
    refuse_code,
    refuse_inert_decay,
    resolve,
    settle,
    to_json,
    to_toml,
    with_overrides,
)

__all__ = ["run_app"]

app = typer.Typer(
    name="fedmgda",
    cls=GroupedHelp,
    help="Federated learning that looks after every participating user.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

data_app.command()(plot)
app.add_typer(data_app, name="data", rich_help_panel=DATA)
app.add_typer(
    flower_app,
    name="flower",
    short_help="Run a spec on Flower, on this machine or on many.",
    rich_help_panel=DATA,
)
app.command(rich_help_panel=OWN)(init)
app.command(short_help="Use a trained model on new rows.", rich_help_panel=OWN)(predict)
app.command(
    short_help="Run a table or figure of the paper and compare; `list` shows them.",
    rich_help_panel=PAPER,
)(reproduce)
app.command(short_help="Ask who is better off, client by client.", rich_help_panel=LOOK)(compare)
app.command(short_help="Look at runs: one page, no network.", rich_help_panel=LOOK)(report)
app.command(short_help="Prove a run: compute again what it claims.", rich_help_panel=LOOK)(verify)
app.command(rich_help_panel=LOOK)(explain)

Strict = Annotated[
    bool, typer.Option("--strict", help="End with code 9 unless the run is shown to have learned.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, nothing else.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many runs at the same time.")]


def run_app() -> int:
    """Run the command line; return the exit code."""
    return exit_code_of(lambda: app(standalone_mode=False))


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Federated learning that looks after every participating user."""
    if version:
        out.print(fedmgda.__version__)
        raise typer.Exit


@app.command(rich_help_panel=RUN)
def run(  # noqa: PLR0913, PLR0917 (one for each option)
    spec_path: SpecPath,
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run folder; runs/NAME if not given.")
    ] = None,
    config: Overrides = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the resolved spec and stop.")
    ] = False,
    show_spec: Annotated[
        bool, typer.Option("--show-spec", help="Print the resolved spec before training.")
    ] = False,
    compare_too: Annotated[
        bool, typer.Option("--compare", help="Run FedAvg, alone and pooled too, and compare.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="N|A-B", help="With --compare: several seeds.")
    ] = None,
    no_code: NoCode = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Train from one file; every key has a default."""
    table = with_overrides(read_toml(spec_path), config or [])
    if "sweep" in table:
        raise SpecError(f"{spec_path} describes many runs; use: fedmgda sweep {spec_path}")
    if compare_too and not dry_run:
        path = folder or Path("runs") / spec_path.stem
        chosen = chosen_seeds(seeds, table)
        good = run_compared(
            path, table, chosen, no_code=no_code, show_spec=show_spec, as_json=as_json
        )
        raise typer.Exit(NOT_LEARNED if strict and not good else 0)
    if seeds is not None:
        raise SpecError("--seeds goes with --compare; for anything else, use fedmgda sweep.")
    spec = resolve(parse(Spec, table))
    refuse_inert_decay(spec)
    if no_code:
        refuse_code(spec)
    # To look at a spec must not run code that it names for its data.
    unread = dry_run and is_entry(spec.data.name or "")
    settled = Settled(spec=spec) if unread else settle(spec)
    spec = settled.spec
    if dry_run:
        out.print(to_toml(spec), markup=False, highlight=False, end="", soft_wrap=True)
        return
    if show_spec:
        err.print(to_toml(spec), markup=False, highlight=False, style="dim")
    created = RunFolder.create(folder or Path("runs") / spec_path.stem, spec)
    _carry_on(created, settled, as_json=as_json, strict=strict)


@app.command(rich_help_panel=RUN)
def resume(
    folder: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")],
    no_code: NoCode = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was stopped or killed."""
    if no_code:
        refuse_code(open_run(folder).spec)
    _carry_on(RunFolder.open(folder), as_json=as_json, strict=strict)


@app.command(short_help="Train every combination of rules, attacks, seeds.", rich_help_panel=RUN)
def sweep(
    spec_path: SpecPath,
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder; runs/NAME if not given.")
    ] = None,
    config: Overrides = None,
    jobs: Jobs = 1,
    no_code: NoCode = False,
    as_json: AsJson = False,
) -> None:
    """Compare rules, attacks, seeds: every combination of the sweep table of a spec."""
    check = refuse_code if no_code else None
    runs = plan_sweep(read_toml(spec_path), config or [], check=check)
    for planned in runs:
        refuse_inert_decay(planned.spec)
    collection = Collection(folder or Path("runs") / spec_path.stem, runs)
    states = watch_jobs(collection, jobs, quiet=as_json, notes=True)
    rows = collection.write_table()
    if as_json:
        out.print_json(to_json(rows))
    else:
        out.print(rows_table(rows))
        say(out, f"Runs and summary.csv, .md, .json are in {escape(str(collection.path))}")
    leave_if_failed(collection, states)


@app.command(short_help="See it work, offline, in under a minute.", rich_help_panel=RUN)
def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="The folder.")] = Path("runs/demo"),
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """See it work, offline, in under a minute: four rules, honest and under attack."""
    run_demo(folder, jobs, as_json=as_json)


def _carry_on(
    folder: RunFolder, settled: Settled | None = None, *, as_json: bool, strict: bool
) -> None:
    if folder.done:
        open_run(folder.path).check()
        note(settled.notes if settled is not None else ())
        say(err, f"{escape(str(folder.path))} is finished; this is its summary.")
    else:
        watch_run(
            execute(folder, settled=settled),
            quiet=as_json,
            begin=lambda progress: err.print(header(open_run(folder.path), progress)),
        )
    finished = open_run(folder.path)
    if as_json:
        out.print_json(to_json(replace(finished.summary, verdict=finished.verdict)))
    else:
        print_screen(finished)
    if strict and not finished.verdict.good:
        raise typer.Exit(NOT_LEARNED)
