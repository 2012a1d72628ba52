import shutil
import tempfile
from pathlib import Path

import pytest

from deployed import NODES, listeners, wait_for
from fedmgda.flower._deployment import Deployment


@pytest.fixture(scope="session")
def deployment():
    """The one SuperLink that all tests of a session share, with its three nodes.

    When it has been stopped, nothing of it may be left: neither a process nor a listener.
    """
    folder = Path(tempfile.mkdtemp(prefix="fm-"))  # the paths of sockets must be short
    with Deployment(folder, NODES) as shared:
        yield shared
        processes, ports = shared.processes(), {a.port for a in listeners(shared.processes())}
        assert len(ports) == NODES + 1
    gone = wait_for(
        lambda: not any(p.is_running() and p.status() != "zombie" for p in processes), 15
    )
    shutil.rmtree(folder)
    assert gone, [p for p in processes if p.is_running()]
