import os
import shutil
import tempfile
from pathlib import Path

import pytest

from deployed import NODES, listeners, wait_for
from fedmgda.flower.deployment._deployment import Deployment
from hospitals import write_sites
from hostile_client import FAULTS
from wire_tap import TAP


@pytest.fixture(scope="session")
def deployment():
    """The one SuperLink that all tests of a session share, with its three nodes.

    When it has been stopped, nothing of it may be left: neither a process nor a listener.
    """
    folder = Path(tempfile.mkdtemp(prefix="fm-"))  # the paths of sockets must be short
    with pytest.MonkeyPatch.context() as patch:
        # What a hostile ClientApp does, where another keeps copies, and where both are found.
        patch.setenv(FAULTS, str(folder / "faults.json"))
        patch.setenv(TAP, str(folder / "tap"))
        known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        here = str(Path(__file__).parents[2])
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (*known, here))))
        sites = sorted(write_sites(folder / "sites").iterdir())
        shared = Deployment(folder, NODES, sites)
    with shared:
        yield shared
        processes, ports = shared.processes(), {a.port for a in listeners(shared.processes())}
        assert len(ports) == NODES + 1
    gone = wait_for(lambda: not [p for p in processes if alive(p)], 15)
    shutil.rmtree(folder)
    assert gone, [p for p in processes if alive(p)]


def alive(process):
    return process.is_running() and process.status() != "zombie"
