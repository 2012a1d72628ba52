"""A whole Flower deployment on this machine: a SuperLink, its SuperNodes, a worker for each.

Everything listens on 127.0.0.1 only. The SuperLink shows a certificate, and takes only nodes whose
keys were registered; both were made for this deployment and are gone with it.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, final

import psutil

from fedmgda._errors import FedmgdaError
from fedmgda._files import make_folder, write_file
from fedmgda.flower.deployment._environment import quiet_environment
from fedmgda.flower.deployment._keys import make_node_key, make_server_keys
from fedmgda.flower.deployment._member import Member, last_line
from fedmgda.flower.deployment._ports import HOST, free_ports, is_open
from fedmgda.flower.deployment._processes import Family
from fedmgda.flower.deployment._seat import Seat
from fedmgda.flower.deployment._submission import flwr_json
from fedmgda.flower.wire._socket import check_socket_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

__all__ = ["CONNECTION", "Deployment", "DeploymentError"]

CONNECTION: Final = "fedmgda"
"""What the deployment's SuperLink is called in its Flower configuration."""

_START = 180.0  # seconds; 10 to 30 on a machine that is busy
_PAUSE = 0.1
_SPARE = 6  # ports for nodes whose own was taken between being found free and being used


class DeploymentError(FedmgdaError):
    """A part of a deployment did not start, or ended."""


@final
class Deployment:
    """A SuperLink and N SuperNodes that run until the block ends.

    Args:
        folder: Theirs alone: keys, the SuperLink's database, sockets, logs. Its path must be short,
            because the path of a socket is.
        num_nodes: How many.
        data: The rows of each node, where it has its own.
        logs: Where the logs can be read afterwards; None for the folder.
    """

    def __init__(
        self,
        folder: Path,
        num_nodes: int,
        data: Sequence[Path] = (),
        logs: Path | None = None,
    ) -> None:
        check_socket_path(folder / f"w{num_nodes - 1}")
        make_folder(folder)
        self.folder, self.num_nodes, self._data = folder, num_nodes, tuple(data)
        self._keys = make_server_keys(folder / "keys")
        self._logs = logs or folder
        self._port, *ports = free_ports(num_nodes + 1 + _SPARE)
        self._nodes: list[Member] = []
        addresses = [f"{HOST}:{port}" for port in (self._port, *ports)]
        self._family = Family(quiet_environment(folder / "home"), addresses)
        self._ports = ports

    def __enter__(self) -> Deployment:
        try:
            self.start_superlink()
            for index in range(self.num_nodes):
                self._register(index)
                self.start_node(index)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def environment(self) -> dict[str, str]:
        """In which `flwr` knows the SuperLink as `CONNECTION`."""
        return self._family.environment

    @property
    def address(self) -> str:
        """Where the SuperLink listens."""
        return f"{HOST}:{self._port}"

    @property
    def authority(self) -> Path:
        """The certificate its nodes and users know it by."""
        return self._keys.authority

    @property
    def node_ids(self) -> tuple[str, ...]:
        """What Flower calls the nodes, in their order."""
        return tuple(node.node_id for node in self._nodes)

    @property
    def roster(self) -> str:
        """Whom each node may answer for where all can make the data, as `permissions` reads it."""
        parts = {node: f"{i}/{self.num_nodes}" for i, node in enumerate(self.node_ids)}
        return json.dumps(parts)

    def close(self) -> None:
        """Stop every process."""
        self._family.close()

    def check(self) -> None:
        """Refuse to go on without the SuperLink, without a single node, or if one cannot start.

        A node that ended because its port had been taken is started again on another one. One that
        ends after it was connected is the run's to miss.

        Raises:
            DeploymentError: If they have ended.
        """
        for index in range(len(self._nodes)):
            self._check_start(index)
        ended = self._family.ended()
        nodes = [f"SuperNode {index}" for index in range(len(self._nodes))]
        lost = ["SuperLink"] if "SuperLink" in ended else nodes
        if lost and all(name in ended for name in lost):
            raise DeploymentError(
                f"The {lost[0]} ended with code {ended[lost[0]]}: {self.last_words(lost[0])}"
            )

    def start_superlink(self) -> None:
        """Start the SuperLink, or start it again on its database, and wait until it listens."""
        home, keys = self.folder / "home", self._keys
        make_folder(home)
        connection = {"address": self.address, "root-certificates": str(keys.authority)}
        lines = [f"{key} = {json.dumps(value)}" for key, value in connection.items()]
        text = "\n".join((f"[superlink.{CONNECTION}]", *lines, ""))
        write_file(home / "config.toml", text.encode())
        secured = [
            *("--ssl-ca-certfile", str(keys.authority), "--ssl-certfile", str(keys.certificate)),
            *("--ssl-keyfile", str(keys.key), "--enable-supernode-auth"),
        ]
        place = ["--host", HOST, "--port", str(self._port)]
        database = ["--database", str(self.folder / "state.db")]
        fetch = "--disable-runtime-dependency-installation"
        self._start("SuperLink", ["flower-superlink", *secured, *place, *database, fetch])
        self._wait_for_listener("SuperLink", self._port)

    def start_node(self, index: int) -> None:
        """Start a node and its worker; again, if it has ended."""
        worker, node = self.folder / f"w{index}", self._nodes[index]
        node.begin()
        if not worker.exists():
            self._start(f"worker {index}", node.seat.worker_command(worker))
        self._start(f"SuperNode {index}", node.seat.command(worker, node.port))

    def stop(self, name: str) -> None:
        """Stop one part, as `SuperNode 0`, with all it has started."""
        self._family.stop(name)

    def running(self, command: str) -> list[psutil.Process]:
        """Return the processes of the deployment that run a command of Flower's."""
        found = []
        for process in self._family.members():
            with suppress(psutil.Error):  # it has ended meanwhile
                if any(word.endswith(command) for word in process.cmdline()[:2]):
                    found.append(process)
        return found

    def processes(self) -> list[psutil.Process]:
        """Return all processes of the deployment that are alive."""
        return self._family.members()

    def last_words(self, name: str) -> str:
        """Return the last line that a part has printed."""
        log = self._log(name)
        return last_line(log.read_text(errors="replace") if log.exists() else "")

    def _check_start(self, index: int) -> None:
        ended, node = self._family.ended(), self._nodes[index]
        name, worker = f"SuperNode {index}", f"worker {index}"
        if name in ended and not node.has_connected():
            if node.found_port_taken() and self._ports:
                self._family.disown(f"{HOST}:{node.port}")
                node.port = self._ports.pop(0)
                self.start_node(index)
                return
            raise self._not_started(node, node.last_words(), name)
        if worker in ended and not (self.folder / f"w{index}").exists():
            raise self._not_started(node, self.last_words(worker), worker)

    def _not_started(self, node: Member, words: str, name: str) -> DeploymentError:
        log = self._logs / self._log(name).name
        return DeploymentError(f"{node.called} ended while starting: {words}; its log is {log}.")

    def _register(self, index: int) -> None:
        key = make_node_key(self.folder / "keys", f"node{index}")
        connection = self.environment
        said = flwr_json(connection, "supernode", "register", str(key.public), CONNECTION)
        seat = Seat(
            superlink=self.address,
            index=index,
            nodes=self.num_nodes,
            authority=self.authority,
            key=key.private,
            data=self._data[index] if self._data else None,
            trust=True,  # the spec's author started it, on this machine
        )
        log = self._log(f"SuperNode {index}")
        self._nodes.append(Member(seat, str(said["node-id"]), self._ports.pop(0), log))

    def _start(self, name: str, command: list[str]) -> None:
        self._family.start(name, command, self._log(name))

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-').lower()}.log"

    def _wait_for_listener(self, name: str, port: int) -> None:
        until = time.monotonic() + _START
        while time.monotonic() < until:
            self.check()
            if is_open(port):
                return
            time.sleep(_PAUSE)
        raise DeploymentError(f"The {name} did not listen on {HOST}:{port} within {_START:g} s.")
