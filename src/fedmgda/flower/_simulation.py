"""A run on Flower's Ray runtime: nodes are actors on this machine."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from fedmgda._errors import FedmgdaError, MissingDependencyError
from fedmgda.experiments import Interrupted, to_toml
from fedmgda.flower.deployment._environment import keep_quiet
from fedmgda.flower.wire._end import End, read_end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType, ModuleType

    from flwr.app import Context

    from fedmgda.experiments import Spec
    from fedmgda.flower.server._grid_exchanges import Grid

__all__ = ["simulate_on_ray"]

_ATTEMPTS = 3
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def simulate_on_ray(spec: Spec, out: Path, num_nodes: int) -> End:
    """Carry out a resolved spec on Ray; the clients are dealt among so many nodes.

    There are as many actors as cores, at most one for each node; each loads torch and the data.

    Args:
        spec: The spec.
        out: The run folder.
        num_nodes: How many nodes.

    Returns:
        How it ended: code 0 for a finished run, 128 plus the signal if one stopped it; then the
        same call goes on from where it stood.
    """
    keep_quiet()
    try:
        import ray  # noqa: PLC0415 (slow, and not everybody's)
        from flwr.serverapp import ServerApp  # noqa: PLC0415
        from flwr.simulation import run_simulation  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Flower's simulation is not installed; install it with: pip install 'fedmgda[flower]'."
        ) from error
    from fedmgda.flower.client_app import simulated_app as client_app  # noqa: PLC0415
    from fedmgda.flower.server_app import Settings, serve  # noqa: PLC0415

    settings = Settings(spec=to_toml(spec), out=out.absolute(), num_nodes=num_nodes)
    began = False
    server_app = ServerApp()
    with _told_to_stop() as stop:

        @server_app.main()
        def main(grid: Grid, context: Context) -> None:
            nonlocal began
            began = True
            serve(grid, str(context.run_id), settings, stop.look_up)

        actors = min(num_nodes, os.cpu_count() or 1)
        _start_ray(ray, actors)
        stop.listen()  # Ray has taken SIGTERM for itself
        with _without_advice():
            run_simulation(
                server_app=server_app,
                client_app=client_app,
                num_supernodes=num_nodes,
                backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
            )
    end = read_end(settings.out) if began else None
    return end or End(FedmgdaError.exit_code, "Flower's simulation ended before the run began.")


def _start_ray(ray: ModuleType, actors: int) -> None:
    """Start Ray, its actors with the modules that this process finds.

    Ray gives itself half a minute, which on a busy machine can be too short: it is tried again.
    """
    paths = [*sys.path, os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    for left in reversed(range(_ATTEMPTS)):
        try:
            ray.init(
                num_cpus=actors, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
            )
        except Exception as error:
            ray.shutdown()
            if not left:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                raise FedmgdaError(
                    f"Ray did not start in {_ATTEMPTS} attempts ({reason}); free the machine of "
                    "other work, or use --engine local-deployment."
                ) from error
        else:
            return


@contextmanager
def _without_advice() -> Iterator[None]:
    """Hold back Flower's advice to call it in another way: who reads it did not write the call."""

    def is_other(record: logging.LogRecord) -> bool:
        return "DEPRECATED" not in record.getMessage()

    logger = logging.getLogger("flwr")
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


@final
class _Stop:
    """The two signals, for a run that is not in the main thread, where alone they can be taken."""

    def __init__(self) -> None:
        self._number: int | None = None

    def listen(self) -> None:
        """Take the signals from now on."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                signal.signal(number, self._take)

    def look_up(self) -> None:
        """Raise `Interrupted` if a signal came."""
        if self._number is not None:
            raise Interrupted(self._number)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._number = number


@contextmanager
def _told_to_stop() -> Iterator[_Stop]:
    """Take the signals while the block runs."""
    previous = {number: signal.getsignal(number) for number in _SIGNALS}
    stop = _Stop()
    stop.listen()
    try:
        yield stop
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in previous.items():
                signal.signal(number, handler)
