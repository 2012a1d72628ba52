"""A whole Flower deployment on this machine: a SuperLink, its SuperNodes, a worker for each.

Everything listens on 127.0.0.1 only. The SuperLink shows a certificate, and takes only nodes whose
keys were registered; both were made for this deployment and are gone with it.
"""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from fedmgda._errors import FedmgdaError
from fedmgda._files import make_folder, write_file
from fedmgda.flower._environment import quiet_environment
from fedmgda.flower._keys import make_node_key, make_server_keys
from fedmgda.flower._processes import Family

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    import psutil

    from fedmgda.flower._keys import NodeKey

__all__ = ["CONNECTION", "Deployment", "DeploymentError", "free_ports"]

CONNECTION: Final = "fedmgda"
"""What the deployment's SuperLink is called in its Flower configuration."""

_START = 180.0  # seconds; 10 to 30 on a machine that is busy
_PAUSE = 0.1
_HOST = "127.0.0.1"


class DeploymentError(FedmgdaError):
    """A part of a deployment did not start, or ended."""


@final
@dataclass(frozen=True, slots=True)
class _Member:
    """A node of the deployment.

    Attributes:
        key: Its key, registered.
        node_id: What Flower calls it; it stays, because the key does.
        port: Where its own processes reach it.
    """

    key: NodeKey
    node_id: str
    port: int


@final
class Deployment:
    """A SuperLink and N SuperNodes that run until the block ends.

    Args:
        folder: Theirs alone: keys, the SuperLink's database, sockets, logs. Its path must be short,
            because the path of a socket is.
        num_nodes: How many.
        node_config: Further settings of every node, beside those of its place and its worker.
    """

    def __init__(
        self, folder: Path, num_nodes: int, node_config: Mapping[str, str] | None = None
    ) -> None:
        make_folder(folder)
        self.folder, self.num_nodes = folder, num_nodes
        self._extra = dict(node_config or {})
        self._keys = make_server_keys(folder / "keys")
        self._port, *ports = free_ports(num_nodes + 1)
        self._nodes: list[_Member] = []
        addresses = [f"{_HOST}:{port}" for port in (self._port, *ports)]
        self._family = Family(quiet_environment(folder / "home"), addresses)
        self._node_ports = ports

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
        return f"{_HOST}:{self._port}"

    @property
    def authority(self) -> Path:
        """The certificate its nodes and users know it by."""
        return self._keys.authority

    @property
    def node_ids(self) -> tuple[str, ...]:
        """What Flower calls the nodes, in their order."""
        return tuple(node.node_id for node in self._nodes)

    def close(self) -> None:
        """Stop every process."""
        self._family.close()

    def check(self) -> None:
        """Refuse to go on with a part that has ended."""
        for name, code in self._family.ended().items():
            raise DeploymentError(
                f"{name} ended with code {code}: {self.last_words(name)} "
                f"(the whole log was {self._log(name)})"
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
        place = ["--host", _HOST, "--port", str(self._port)]
        database = ["--database", str(self.folder / "state.db")]
        fetch = "--disable-runtime-dependency-installation"
        self._start("SuperLink", ["flower-superlink", *secured, *place, *database, fetch])
        self._wait_for_listener("SuperLink", self._port)

    def start_node(self, index: int) -> None:
        """Start a node and its worker; again, if it has ended."""
        node, worker = self._nodes[index], self.folder / f"w{index}"
        own = f"partition-id={index} num-partitions={self.num_nodes}"
        texts = {"worker": str(worker), **self._extra}
        config = " ".join((own, *(f"{key}={json.dumps(text)}" for key, text in texts.items())))
        if not worker.exists():
            python = [sys.executable, "-m", "fedmgda.flower.worker"]
            self._start(f"worker {index}", [*python, str(worker)])
        trust = ["--root-certificates", str(self._keys.authority), "--superlink", self.address]
        key = ["--auth-supernode-private-key", str(node.key.private)]
        place = ["--host", _HOST, "--port", str(node.port), "--node-config", config]
        self._start(f"SuperNode {index}", ["flower-supernode", *trust, *key, *place])

    def stop(self, name: str) -> None:
        """Stop one part, as `SuperNode 0`, with all it has started."""
        self._family.stop(name)

    def processes(self) -> list[psutil.Process]:
        """Return all processes of the deployment that are alive."""
        return self._family.members()

    def flwr(self, *arguments: str, seconds: float = 60.0) -> dict[str, object]:
        """Run a command of Flower's own and return what it says in JSON."""
        command = ["flwr", *arguments, "--format", "json"]
        try:
            done = subprocess.run(
                command,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DeploymentError(f"{shlex.join(command)} took more than {seconds:g} s.") from None
        start = done.stdout.find("{")
        if done.returncode or start < 0:
            words = (done.stderr or done.stdout).strip()[-400:]
            raise DeploymentError(f"{shlex.join(command)} ended with {done.returncode}: {words}")
        found, _ = json.JSONDecoder().raw_decode(done.stdout[start:])
        if not isinstance(found, dict) or not found.get("success"):
            raise DeploymentError(f"{shlex.join(command)} said: {done.stdout.strip()[-400:]}")
        return found

    def last_words(self, name: str) -> str:
        """Return the last line that a part has printed."""
        log = self._log(name)
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][-300:] if said else "it said nothing"

    def _register(self, index: int) -> None:
        key = make_node_key(self.folder / "keys", f"node{index}")
        said = self.flwr("supernode", "register", str(key.public), CONNECTION)
        self._nodes.append(_Member(key, str(said["node-id"]), self._node_ports[index]))

    def _start(self, name: str, command: list[str]) -> None:
        self._family.start(name, command, self._log(name))

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-').lower()}.log"

    def _wait_for_listener(self, name: str, port: int) -> None:
        until = time.monotonic() + _START
        while time.monotonic() < until:
            self.check()
            with socket.socket() as line:
                line.settimeout(1.0)
                if line.connect_ex((_HOST, port)) == 0:
                    return
            time.sleep(_PAUSE)
        raise DeploymentError(f"The {name} did not listen on {_HOST}:{port} within {_START:g} s.")


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody listens on at this moment, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for line in sockets:
            line.bind((_HOST, 0))
        return [line.getsockname()[1] for line in sockets]
    finally:
        for line in sockets:
            line.close()
