"""Commands in processes of their own that need not load everything anew: forked, one at a time.

`python servant.py` reads requests, one JSON object a line, and answers each with the id of the
process and, when that has ended, its exit code (negative: the signal).
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from faulty_disk import FaultyDisk
from fedmgda.cli import (
    _app,  # noqa: F401 (for those that are forked)
    main,
)
from runs import finished_run


class Servant:
    """The process to which commands are given."""

    def __init__(self):
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, arguments, folder, said, **more):
        """Start a command in a folder; return the id of its process.

        Args:
            arguments: Those of `fedmgda`; or a module, a function of it and what that is given.
            folder: Where it runs.
            said: The file for what it prints.
            more: `environment`; `function`, what is called instead; `disk`, what FaultyDisk is
                given; `descriptors`, how many may be open; `memory`, how many bytes it may take
                beyond those it has.
        """
        request = {"arguments": arguments, "folder": str(folder), "said": str(said), **more}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def wait(self):
        """Return the exit code of what was started last."""
        return int(self._server.stdout.readline())

    def close(self):
        self._server.stdin.close()
        self._server.wait(60)
        self._server.stdout.close()


@contextmanager
def servant():
    one = Servant()
    try:
        yield one
    finally:
        one.close()


def _serve():
    """Fork a process for each request; what they need is loaded, kernels included."""
    with tempfile.TemporaryDirectory() as folder:
        finished_run(Path(folder) / "compiled")
        finished_run(Path(folder) / "torch", clients={"path": "torch", "per_round": 2})
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _carry_out(**json.loads(line))  # which raises SystemExit
        _answer(pid)
        _answer(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _answer(number):
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _carry_out(  # noqa: PLR0917
    arguments,
    folder,
    said,
    function=None,
    environment=None,
    disk=None,
    descriptors=None,
    memory=None,
):
    os.chdir(folder)
    os.environ.update(environment or {})
    tempfile.tempdir = None  # to be looked up anew
    for path, number in ((os.devnull, 0), (said, 1), (said, 2)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644), number)
    os.closerange(3, 16)
    sys.argv = ["fedmgda", *arguments]
    if disk is not None:
        watched = FaultyDisk(**disk)
        atexit.register(lambda: Path(f"{said}.calls").write_text(str(watched.calls)))
        watched.install()
    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    if memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory += pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if function is None:
        main()
    module, _, name = function.partition(":")
    getattr(importlib.import_module(module), name)(*arguments)


if __name__ == "__main__":
    _serve()
