"""A run on a deployment of its own, from the first process to the last."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from fedmgda._files import make_folder
from fedmgda.experiments import Interrupted, interruptible, to_toml
from fedmgda.flower.deployment._deployment import CONNECTION, Deployment
from fedmgda.flower.deployment._environment import quiet_environment
from fedmgda.flower.deployment._export import CLIENT_APP, export_app
from fedmgda.flower.deployment._submission import FlowerError, Submission
from fedmgda.flower.wire._end import End, end_file, read_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fedmgda.experiments import Spec

__all__ = ["Order", "run_locally", "run_on", "run_on_superlink"]

_SERVER_APP = "flwr-serverapp"
_LAST_LINE = 8  # looks, of half a second, that a ServerApp which is gone has for its last line


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be run.

    Attributes:
        spec: The resolved spec, settled where its data can be read here.
        out: The run folder, on the SuperLink's machine.
        num_nodes: How many nodes to wait for.
        roster: Whom each registered node may answer for, as JSON; empty permits every node all.
        client_app: The app of the nodes.
    """

    spec: Spec
    out: Path
    num_nodes: int
    roster: str = ""
    client_app: str = CLIENT_APP

    def export(self, folder: Path) -> None:
        """Write it as a Flower app."""
        config: dict[str, str | int] = {
            "spec": to_toml(self.spec),
            "out": str(self.out),
            "num-nodes": self.num_nodes,
            "roster": self.roster,
        }
        export_app(folder, config, client_app=self.client_app)


def run_locally(order: Order, news: Callable[[str], None], data: Sequence[Path] = ()) -> End:
    """Run on a SuperLink and nodes that are started for it and stopped after it.

    Args:
        order: What to run.
        news: Told what the run says of itself.
        data: The rows of each node, where they have their own.

    Raises:
        Interrupted: After SIGINT or SIGTERM; everything is saved, and stopped.
        DeploymentError: If a part of the deployment does not start, or ends.
    """
    with interruptible(), _folder(order.out) as folder:
        with Deployment(folder, order.num_nodes, data, _logs(order.out)) as deployment:
            end = run_on(deployment, order, news)
        if not end.code:
            shutil.rmtree(folder)
        return end


def run_on(deployment: Deployment, order: Order, news: Callable[[str], None]) -> End:
    """Run on a deployment that stands already."""
    app = deployment.folder / f"app-{secrets.token_hex(4)}"
    if not order.roster and order.spec.data.schema is None:
        order = replace(order, roster=deployment.roster)
    order.export(app)
    end_file(order.out).unlink(missing_ok=True)  # of an earlier run
    watched = _ServerAppWatch(deployment)

    def look() -> End | None:
        deployment.check()
        return read_end(order.out) or watched.look()

    submission = Submission(app, CONNECTION, deployment.environment)
    try:
        return submission.follow(news, look)
    except Interrupted:
        end = read_end(order.out)
        if end is None or end.code:
            raise
        return end  # it was finished already
    finally:
        submission.close()


def run_on_superlink(order: Order, connection: str, news: Callable[[str], None]) -> End:
    """Run on a SuperLink that somebody has started, with the nodes that are connected to it.

    Args:
        order: What to run.
        connection: The SuperLink's name in the user's Flower configuration, as was checked.
        news: Told what the run says of itself.

    Raises:
        Interrupted: After SIGINT or SIGTERM; the run was asked to end too.
    """
    with interruptible(), tempfile.TemporaryDirectory(prefix="fedmgda-") as folder:
        app = Path(folder) / "app"
        order.export(app)
        submission = Submission(app, connection, quiet_environment())
        try:
            return submission.follow(news)
        except BaseException as error:
            end = submission.stop()
            if isinstance(error, Interrupted) and end is not None and not end.code:
                return end  # it was finished before it could be stopped
            raise
        finally:
            submission.close()


@final
class _ServerAppWatch:
    """Notices that a ServerApp was killed long before the SuperLink does."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment, self._seen, self._gone = deployment, False, 0

    def look(self) -> End | None:
        """Return an end if the ServerApp was there, and is not any more, and said nothing."""
        if self._deployment.running(_SERVER_APP):
            self._seen, self._gone = True, 0
            return None
        self._gone += self._seen
        if self._gone < _LAST_LINE:
            return None
        return End(
            FlowerError.exit_code,
            "The ServerApp ended without a word, as it does when it is killed; the same command "
            "goes on from the last round that was saved.",
        )


def _logs(out: Path) -> Path:
    """Return where the logs of a run that did not succeed are kept: beside its folder."""
    return out.with_name(f"{out.name}.flower-logs")


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """Make a folder with a short path; where the run does not succeed, keep what was printed."""
    folder = Path(tempfile.mkdtemp(prefix="fedmgda-"))
    try:
        yield folder
    finally:
        if folder.exists():
            logs = _logs(out)
            make_folder(logs)
            for log in folder.glob("*.log"):
                shutil.move(log, logs / log.name)
            shutil.rmtree(folder)
