"""A node that cannot start is noticed at once; one whose port was taken gets another."""

import shutil
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from deployed import wait_for
from fedmgda.flower.deployment._deployment import Deployment, DeploymentError
from fedmgda.flower.deployment._member import Member
from fedmgda.flower.deployment._ports import HOST

# As a SuperNode: it listens on its port, or says why not; then it says that it is connected.
NODE = """
import socket, sys, time
line = socket.socket()
try:
    line.bind(("127.0.0.1", int(sys.argv[1])))
except OSError:
    print("[Errno 98] address already in use")
    sys.exit("SuperNode Runtime HTTP API failed to start.")
print("SuperNode ID: 7", flush=True)
time.sleep(600)
"""
WORKER = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)"


@dataclass
class Stand:
    """What `Seat` is, with another program."""

    node: str = NODE
    worker: str = WORKER
    index: int = 0
    data: Path | None = Path("oslo.csv")

    def worker_command(self, worker):
        return [sys.executable, "-c", self.worker, str(worker)]

    def command(self, _worker, port):
        return [sys.executable, "-c", self.node, str(port)]


@pytest.fixture
def start():
    folder = Path(tempfile.mkdtemp(prefix="fm-"))  # the paths of sockets must be short
    started = []

    def make(seat, port):
        deployment = Deployment(folder, 1, logs=Path("run.flower-logs"))
        started.append(deployment)
        log = folder / "supernode-0.log"
        deployment._nodes.append(Member(seat, "7", port, log))
        deployment.start_node(0)
        return deployment, deployment._nodes[0]

    yield make
    for deployment in started:
        deployment.close()
    shutil.rmtree(folder)


def checked_until(deployment, what):
    def look():
        deployment.check()
        return what()

    return wait_for(look, 60)


def test_a_node_whose_port_was_taken_is_started_again_on_another(start):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        deployment, node = start(Stand(), port)
        assert checked_until(deployment, node.has_connected)
        assert node.port != port
        deployment.check()


def test_a_node_that_finds_every_port_taken_is_given_up(start):
    taken = NODE.replace("line.bind", "raise OSError or line.bind")
    deployment, _ = start(Stand(node=taken), 1)
    with pytest.raises(DeploymentError, match="HTTP API failed to start"):
        checked_until(deployment, lambda: False)


def test_a_node_that_cannot_start_ends_the_wait_with_its_last_line(start):
    deployment, _ = start(Stand(node="print('one'); raise SystemExit('no such key')"), 1)
    with pytest.raises(DeploymentError) as caught:
        checked_until(deployment, lambda: False)
    assert str(caught.value) == (
        "Node 0 (oslo.csv) ended while starting: no such key; "
        "its log is run.flower-logs/supernode-0.log."
    )


def test_a_worker_that_cannot_start_ends_the_wait_too(start):
    deployment, _ = start(Stand(worker="raise SystemExit('no torch')"), 1)
    with pytest.raises(DeploymentError, match=r"starting: no torch; .*worker-0\.log"):
        checked_until(deployment, lambda: False)


def test_a_node_that_ends_after_it_was_connected_is_the_runs_to_miss(start):
    ends = "print('SuperNode ID: 7')"
    deployment, node = start(Stand(node=ends), 1)
    deployment._nodes.append(Member(Stand(index=1), "8", 2, deployment.folder / "other.log"))
    assert wait_for(deployment._family.ended, 60)
    assert node.has_connected()
    deployment.check()
