"""The ServerApp: one run of a spec, from its folder to its end, with the clients on Flower's nodes.

Whatever ends it, the exit code and one sentence stand in a file beside the run folder and in one
line of the log: what Flower says of a run does not tell how ours ended.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

from flwr.serverapp import ServerApp

from fedmgda._errors import FedmgdaError, SpecError, StoreError
from fedmgda._files import make_folder, remove_file
from fedmgda.experiments import (
    Interrupted,
    RunFolder,
    Spec,
    execute,
    holds_run,
    interruptible,
    open_run,
    parse,
    parse_toml,
    settled_like,
)
from fedmgda.flower.server._grid_clients import GridClients
from fedmgda.flower.server._grid_exchanges import GridExchanges
from fedmgda.flower.server._node_log import NodeLog
from fedmgda.flower.server._roster import Roster, permissions
from fedmgda.flower.server._survey import survey
from fedmgda.flower.wire._end import End, end_file, write_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flwr.app import Context

    from fedmgda.experiments import Progress
    from fedmgda.flower.server._grid_exchanges import Grid

__all__ = ["Settings", "app", "serve"]

_LOG = logging.getLogger("flwr")

_LOOK = 0.5
_ENDING = 10.0  # seconds for what is to be saved, and for what Flower does at the end

app = ServerApp()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run is told.

    Attributes:
        spec: The resolved spec, TOML.
        out: The run folder, an absolute path on this machine.
        num_nodes: How many nodes to wait for.
        roster: JSON: whom each registered node may answer for; or nothing.
    """

    spec: str
    out: Path
    num_nodes: int
    roster: str = ""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Read Flower's run config.

        Raises:
            SpecError: If a key is missing or wrong.
        """
        out = Path(_wanted(config, "out", str))
        if not out.is_absolute():
            raise SpecError(f"out must be an absolute path of this machine, got {str(out)!r}.")
        num_nodes = _wanted(config, "num-nodes", int)
        if num_nodes < 1:
            raise SpecError(f"num-nodes must be at least 1, got {num_nodes}.")
        return cls(
            spec=_wanted(config, "spec", str),
            out=out,
            num_nodes=num_nodes,
            roster=str(config.get("roster", "")),
        )


def _wanted(config: Mapping[str, Any], key: str, kind: type) -> Any:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, kind):
        name = {str: "a text", int: "a whole number"}[kind]
        raise SpecError(f"The run config must give {key}, {name}, got {value!r:.40}.")
    return value


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry out the run that Flower's run config describes."""
    try:
        settings = Settings.of(context.run_config)
    except SpecError as error:
        _LOG.error("fedmgda: exit %d: %s", error.exit_code, error)
        raise
    _end_with_parent()
    code = serve(grid, str(context.run_id), settings)
    if code:
        raise RuntimeError(f"The run ended with exit code {code}.")


def _end_with_parent() -> None:
    """Be told to end when Flower's process that started this one has ended, and end.

    Flower raises a signal then too, but in a thread of its own, where it does not wake up a main
    thread that waits for an answer of a server that is gone.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_ENDING)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def serve(
    grid: Grid, run: str, settings: Settings, look_up: Callable[[], None] = lambda: None
) -> int:
    """Carry out a run, and leave its exit code where it can be found.

    Args:
        grid: Flower's.
        run: What questions and answers call the run.
        settings: What to do.
        look_up: Called while waiting; may raise `Interrupted`.

    Returns:
        The exit code, 0 for a finished run.
    """
    code, said = FedmgdaError.exit_code, "It ended in a way that nobody foresaw."
    try:
        make_folder(settings.out.parent)
        remove_file(end_file(settings.out))  # of an attempt before
        with interruptible():
            _carry_out(grid, run, settings, look_up)
        code, said = 0, f"The run in {settings.out} is finished."
    except (FedmgdaError, Interrupted) as error:
        code, said = error.exit_code, str(error)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise
    finally:
        _LOG.info("fedmgda: exit %d: %s", code, said)
        _leave(settings.out, End(code, said))
    return code


def _leave(out: Path, end: End) -> None:
    """Write down how a run ended; where that cannot be, its exit code is what it is."""
    try:
        write_end(out, end)
    except StoreError as error:
        _LOG.error("fedmgda: %s", error)


def _carry_out(grid: Grid, run: str, settings: Settings, look_up: Callable[[], None]) -> None:
    spec = parse(Spec, parse_toml(settings.spec, Path("the run config")))
    if _is_finished(settings.out, spec):
        return
    permitted = permissions(settings.roster)
    exchanges = GridExchanges(grid, run, look_up)
    files = survey(exchanges, spec, settings.num_nodes, permitted)
    if files is not None:
        spec = files.spec
    folder = RunFolder.create(settings.out, spec)
    with NodeLog(folder.path) as log:
        for event in () if files is None else files.events:
            log.write(event)
        roster = Roster(permitted, log.write)
        clients = GridClients(exchanges, roster, spec, settings.num_nodes, files)
        for progress in execute(folder, clients):
            _tell(progress)


def _is_finished(out: Path, spec: Spec) -> bool:
    """Tell whether a folder holds the finished run of a spec: then no node is needed."""
    if not holds_run(out):
        return False
    run = open_run(out)
    return run.finished and run.holds(settled_like(spec, run.spec))


def _tell(progress: Progress) -> None:
    _LOG.info("fedmgda: %s %d of %d", progress.unit, progress.round_num, progress.rounds)
    for note in progress.notes:
        _LOG.info("fedmgda: %s", note)
