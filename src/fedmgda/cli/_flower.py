"""`fedmgda flower`: the same spec on Flower, simulated or on real machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fedmgda._errors import SpecError
from fedmgda.cli._console import err, escape, note, out, say
from fedmgda.cli._flower_checks import check_own_files, check_where, count_nodes, is_finished
from fedmgda.cli._flower_node import Nodes, keys, node, require_flower
from fedmgda.cli._flower_schema import schema
from fedmgda.cli._options import NoCode, Overrides, SpecPath  # noqa: TC001 (read at run time)
from fedmgda.cli._screen import print_screen
from fedmgda.experiments import (
    NODES,
    Spec,
    holds_run,
    open_run,
    parse,
    read_toml,
    refuse_code,
    refuse_inert_decay,
    resolve,
    settle,
    to_json,
    with_overrides,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fedmgda.flower.deployment._local import Order
    from fedmgda.flower.wire._end import End

__all__ = ["flower_app"]

_REFUSALS = 3  # of nodes that are shown
_SIGNAL = 128  # what the code of a run that a signal stopped is more than

flower_app = typer.Typer(
    name="flower",
    help="Run a spec on Flower: simulated, on this machine's loopback, or on real machines.",
    no_args_is_help=True,
)

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The run folder, on the SuperLink's machine; runs/NAME if not given.",
    ),
]


@flower_app.command()
def run(  # noqa: PLR0913, PLR0917 (one for each option)
    spec_path: SpecPath,
    engine: Annotated[
        Literal["sim", "local-deployment"] | None,
        typer.Option(
            "--engine",
            help="sim: Flower's simulation, on Ray. local-deployment: a SuperLink and its "
            "SuperNodes on 127.0.0.1, with TLS and keys of their own, stopped afterwards.",
        ),
    ] = None,
    superlink: Annotated[
        str | None,
        typer.Option("--superlink", metavar="NAME", help="A SuperLink of Flower's config.toml."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            "-n",
            min=1,
            help="How many nodes share the clients; one for each --data, else 2 if not given.",
        ),
    ] = None,
    folder: Out = None,
    config: Overrides = None,
    roster: Annotated[
        Path | None,
        typer.Option(
            "--roster",
            help="Whom each registered node may answer for: a JSON object of lists by node id.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            help="With local-deployment and a data.schema: the file of a node, one for each.",
        ),
    ] = None,
    no_code: NoCode = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Train as fedmgda run does, byte for byte, with Flower between server and clients."""
    check_where(engine, superlink)
    require_flower()
    if superlink is not None:
        from fedmgda.flower.deployment._connections import check_connection  # noqa: PLC0415

        check_connection(superlink)
    num_nodes = count_nodes(nodes, data)
    order = _order(spec_path, folder, config, num_nodes, roster, no_code=no_code)
    check_own_files(order.spec, engine, data)
    if superlink is None and is_finished(order.out, order.spec):
        open_run(order.out).check()
        say(err, f"{escape(str(order.out))} is finished; this is its summary.")
    else:
        end = _carry_out(
            order,
            engine,
            superlink,
            lambda text: None if as_json else say(err, escape(text)),
            data or (),
        )
        _leave_unless_finished(end)
    _conclude(order.out, here=superlink is None, as_json=as_json)


def _leave_unless_finished(end: End) -> None:
    if end.code > _SIGNAL:
        say(err, f"{escape(end.sentence)} Nothing is lost: the same command goes on from here.")
    elif end.code:
        say(err, f"[bold red]Error:[/] {escape(end.sentence)}")
    if end.code:
        raise typer.Exit(end.code)


def _carry_out(
    order: Order,
    engine: str | None,
    superlink: str | None,
    news: Callable[[str], None],
    data: Sequence[Path],
) -> End:
    from fedmgda.flower._simulation import simulate_on_ray  # noqa: PLC0415 (optional packages)
    from fedmgda.flower.deployment._local import run_locally, run_on_superlink  # noqa: PLC0415

    if superlink is not None:
        return run_on_superlink(order, superlink, news)
    if engine == "sim":
        return simulate_on_ray(order.spec, order.out, order.num_nodes)
    return run_locally(order, news, data)


@flower_app.command()
def export(  # noqa: PLR0913, PLR0917 (one for each option)
    spec_path: SpecPath,
    app: Annotated[Path, typer.Argument(help="The folder of the app, a new one.", metavar="DIR")],
    nodes: Nodes = 2,
    folder: Out = None,
    config: Overrides = None,
    roster: Annotated[
        Path | None, typer.Option("--roster", help="As for fedmgda flower run.")
    ] = None,
    no_code: NoCode = False,
) -> None:
    """Write a Flower app that flwr run accepts, for a SuperLink you have."""
    _order(spec_path, folder, config, nodes, roster, no_code=no_code).export(app)
    say(out, f"Run it with: flwr run {escape(str(app))} NAME --stream")


def _order(
    spec_path: Path,
    folder: Path | None,
    config: list[str] | None,
    nodes: int,
    roster: Path | None,
    *,
    no_code: bool,
) -> Order:
    require_flower()
    from fedmgda.flower.deployment._local import Order  # noqa: PLC0415 (optional packages)

    table = with_overrides(read_toml(spec_path), config or [])
    if "sweep" in table:
        raise SpecError(f"{spec_path} describes many runs; Flower runs one.")
    spec = resolve(parse(Spec, table))
    refuse_inert_decay(spec)
    if no_code:
        refuse_code(spec)
    if spec.data.schema is None or spec.data.path is not None:  # else the nodes are asked
        settled = settle(spec)
        note(settled.notes)
        spec = settled.spec
    try:
        permitted = "" if roster is None else roster.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"The roster {roster} cannot be read: {error}.") from error
    path = (folder or Path("runs") / spec_path.stem).absolute()
    return Order(spec=spec, out=path, num_nodes=nodes, roster=permitted)


def _conclude(folder: Path, *, here: bool, as_json: bool) -> None:
    from fedmgda.flower.wire._end import end_file  # noqa: PLC0415 (optional packages)

    if here:
        end_file(folder).unlink(missing_ok=True)  # the folder itself says that it is finished
    if not holds_run(folder):
        say(out, f"Finished; the run folder is {escape(str(folder))} on the SuperLink's machine.")
        return
    finished = open_run(folder)
    if as_json:
        out.print_json(to_json(finished.summary))
    else:
        print_screen(finished)
    from fedmgda.flower.server._roster import read_refusals  # noqa: PLC0415 (optional packages)

    refusals = read_refusals(folder / NODES)
    for refusal in refusals[:_REFUSALS]:
        say(err, f"[bold red]{escape(refusal.sentence())}[/]")
    if len(refusals) > _REFUSALS:
        say(err, f"{len(refusals) - _REFUSALS} more refusals are in {escape(str(folder / NODES))}.")


flower_app.command()(node)
flower_app.command()(keys)
flower_app.command()(schema)
