"""`fedmgda flower node` and `keys`: what the machine of a node needs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path  # noqa: TC003 (read at run time)
from typing import Annotated

import typer

from fedmgda._errors import MissingDependencyError, SpecError
from fedmgda.cli._console import err, escape, note, out, say
from fedmgda.experiments import Interrupted, Spec, parse, read_toml, resolve

__all__ = ["Nodes", "keys", "node", "require_flower"]

Nodes = Annotated[
    int, typer.Option("--nodes", "-n", min=1, help="How many nodes share the clients.")
]


def node(  # noqa: PLR0913, PLR0917 (one for each option)
    superlink: Annotated[
        str, typer.Option("--superlink", metavar="HOST:PORT", help="Where the SuperLink listens.")
    ],
    index: Annotated[
        int, typer.Option("--node", min=0, help="Which node this is, from 0 to N - 1.")
    ],
    nodes: Nodes,
    authority: Annotated[
        Path | None,
        typer.Option("--root-certificates", help="The certificate the SuperLink is known by."),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="The private key of this node, registered.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The rows of this node, where the spec has a schema for them."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option("--client", help="What these rows are called; the file's name if not given."),
    ] = None,
    min_rows: Annotated[
        int | None,
        typer.Option(
            "--min-rows",
            min=3,
            help="Of clients, columns and classes with fewer rows nothing is told, 10 by default.",
        ),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            "--spec",
            help="The spec that this site has agreed to: questions of another one are refused, but "
            "for rounds, participation, rule, server, attack and engine.",
        ),
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option("--allow-code", help="Let a spec run code of this machine, module:name."),
    ] = False,
    port: Annotated[
        int | None, typer.Option("--port", help="A port of 127.0.0.1 for the node itself.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="No TLS, no key: for trials on one machine.")
    ] = False,
) -> None:
    """Be a node of a federation: a SuperNode with its resident worker, until it is stopped."""
    require_flower()
    from fedmgda.flower.deployment._seat import Seat  # noqa: PLC0415 (optional)
    from fedmgda.flower.deployment._supernode import run_node  # noqa: PLC0415 (optional)

    if insecure == (authority is not None or key is not None) or (
        not insecure and (authority is None or key is None)
    ):
        raise SpecError(
            "A node needs --root-certificates and --key, or --insecure alone, which protects "
            "nothing that travels."
        )
    if index >= nodes:
        raise SpecError(f"--node must lie in 0..{nodes - 1}, as --nodes is {nodes}, got {index}.")
    if data is None and (client is not None or min_rows is not None):
        raise SpecError("--client and --min-rows are about the file of --data; name it.")
    if spec is not None:
        _check_agreed(spec, own=data is not None, allow_code=allow_code)
    seat = Seat(
        superlink=superlink,
        index=index,
        nodes=nodes,
        authority=authority,
        key=key,
        data=data,
        client=client,
        min_rows=min_rows,
        spec=spec,
        allow_code=allow_code,
    )
    try:
        code = run_node(seat, port, lambda text: note([text]))
    except Interrupted as stop:
        say(err, f"{stop} The node has left; the same command brings it back.")
        code = stop.exit_code
    raise typer.Exit(code)


def _check_agreed(place: Path, *, own: bool, allow_code: bool) -> None:
    """Refuse a spec that the node would never answer, before anything starts."""
    from fedmgda.flower.node._terms import RefusedError, Terms  # noqa: PLC0415 (optional)

    agreed = resolve(parse(Spec, read_toml(place)))
    try:
        Terms(own=own, allow_code=allow_code, agreed=place).check(agreed)
    except RefusedError as error:
        raise SpecError(f"The node would refuse {place} itself: {error}.") from None


def keys(
    folder: Annotated[Path, typer.Argument(help="Where they go.", metavar="DIR")],
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", help="A name or address the SuperLink is reached by."),
    ] = None,
    nodes: Nodes = 2,
    days: Annotated[
        int,
        typer.Option("--days", min=1, max=3650, help="How long the certificates are good."),
    ] = 365,
) -> None:
    """Make what a secured federation needs: a certificate for the SuperLink, a key per node."""
    require_flower()
    from fedmgda.flower.deployment._keys import make_server_keys  # noqa: PLC0415 (optional)

    names = [f"node{index}" for index in range(nodes)]
    made = make_server_keys(folder, hosts or (), days, names)
    say(out, f"{escape(str(made.authority))} goes to everybody, server.* to the SuperLink,")
    say(out, "node0 to the first node and so on; the .pub files are what you register.")
    say(out, f"The certificates end in {days} days; then make new ones in a new folder.")


def require_flower() -> None:
    """Say what is missing, and how to get it, before anything starts."""
    for package in ("flwr", "psutil"):
        if find_spec(package) is None:
            raise MissingDependencyError(
                f"This command needs the package {package}; "
                "install it with: pip install 'fedmgda[flower]'."
            )
