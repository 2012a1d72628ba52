"""Commands that are stopped at some point and given again: what they leave must be the same."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from fedmgda.cli._endings import exit_code_of
from fedmgda.cli._exit_codes import EXIT_CODES
from fedmgda.data.sources._fetch import fetch_origin
from runs import stopped_run
from unit.data.sources._toys import GOOD, toy

SPEC = """
rounds = 2
[data]
num_clients = 4
[model]
hidden = [2]
[clients]
per_round = 2
[evaluation]
every = 1
[engine]
checkpoint_seconds = 0.0
"""
TORCH, TWO = ["-c", "clients.path=torch"], ["-c", "engine.workers=2"]
PROTECTED = ["-c", "server.protect=true"]
SHARED = Path("/dev/shm")  # noqa: S108 (it is read, nothing is written there)
STUDY = ["reproduce", "digits-attack", "-o", "out", "--seeds", "1", "--rounds", "2"]
STUDY += ["-c", "model.hidden=[2]", "-r", "FedAvg", "-r", "c = 1"]


@dataclass(frozen=True)
class Command:
    """A command of `fedmgda` that writes into the folder `out`.

    Attributes:
        arguments: Its own.
        before: What stands there before.
        environment: Variables it is given.
        function: What is called with the arguments instead of the command line.
    """

    arguments: list
    before: str | None = None
    environment: dict = field(default_factory=dict)
    function: str | None = None


def fetch_toy(address):
    """Do what `fedmgda data fetch` does, with a data set that lies beside the folder."""
    origin = toy(Path(address).absolute().as_uri())
    sys.exit(exit_code_of(lambda: fetch_origin(origin, print) and 0))


RUN = ["run", "../spec.toml", "-o", "out"]
SWEEP = ["sweep", "../sweep.toml", "-o", "out"]
COMMANDS = {
    "run": Command(RUN),
    "run on torch": Command([*RUN, *TORCH]),
    "run over threads": Command([*RUN, *TWO]),
    "run over workers": Command([*RUN, *TORCH, *TWO]),
    "protected run": Command([*RUN, *PROTECTED]),
    "protected run on torch": Command([*RUN, *PROTECTED, *TORCH]),
    "protected run over workers": Command([*RUN, *PROTECTED, *TORCH, *TWO]),
    "resume": Command(["resume", "out"], before="stopped"),
    "sweep": Command(SWEEP),
    "sweep of two at a time": Command([*SWEEP, "-j", "2"]),
    "reproduce": Command([*STUDY, "-j", "1"]),
    "reproduce of two at a time": Command([*STUDY, "-j", "2"]),
    "data import": Command(
        ["data", "import", "femnist", "../leaf"], environment={"FEDMGDA_DATA": "out"}
    ),
    "data fetch": Command(
        ["../toy-1.0.tar.gz"], environment={"FEDMGDA_DATA": "out"}, function="commands:fetch_toy"
    ),
}


def make_sources(folder):
    """Write what the commands read: specs, files of LEAF, a run that was stopped."""
    (folder / "spec.toml").write_text(SPEC)
    (folder / "sweep.toml").write_text(SPEC + "[sweep]\nseeds = [0, 1]\n")
    (folder / "leaf").mkdir()
    pixels = (np.arange(784) % 7 == 1).astype(int).tolist()
    for number in range(2):
        data = {"x": [pixels] * 20, "y": [*range(20)]}
        content = {"users": [f"w{number}"], "user_data": {f"w{number}": data}}
        (folder / "leaf" / f"all_data_{number}.json").write_text(json.dumps(content))
    (folder / "toy-1.0.tar.gz").write_bytes(GOOD)
    stopped_run(folder / "stopped", after=2, rounds=4)


class Place:
    """A folder in which a command is given, again and again, until it is through."""

    def __init__(self, servant, command, sources, name):
        """Make the folder beside the sources.

        Args:
            servant: Who starts commands.
            command: The command.
            sources: The folder of `make_sources`.
            name: Of the new folder.
        """
        self._servant, self._command = servant, command
        self.folder, self._said = sources / name, sources / f"{name}.said"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._temporary = Path(mkdtemp())  # a short path: sockets lie there
        self._shared = set(SHARED.iterdir())
        if command.before:
            shutil.copytree(sources / command.before, self.folder / "out")

    def start(self, **more):
        """Give the command; return the id of its process."""
        self._said.unlink(missing_ok=True)
        environment = {"TMPDIR": str(self._temporary), **self._command.environment}
        arguments = self._command.arguments
        more = {"environment": environment, "function": self._command.function, **more}
        return self._servant.start(arguments, self.folder, self._said, **more)

    def wait(self):
        """Wait for the end of the command; return its code."""
        return self._servant.wait()

    def run(self, **more):
        """Give the command, wait for its end, and return its code and what it said."""
        self.start(**more)
        return self.wait(), self._said.read_text(errors="replace")

    def count(self):
        """Give the command; return how many calls it makes that change the disk."""
        code, said = self.run(disk={"below": str(self.folder / "out")})
        assert code == 0, said
        return int(Path(f"{self._said}.calls").read_text())

    def left(self):
        """Return what the command left, by the name of the file.

        Of checkpoints, whose parts stand in any order, and of the environment only the names;
        nothing of locks and of the seconds that rounds took.
        """
        out, found = self.folder / "out", {}
        for path in out.rglob("*"):
            if path.is_file() and not path.name.endswith(("lock", "timings.jsonl")):
                opaque = path.parent.name == "checkpoints" or path.name == "environment.json"
                found[str(path.relative_to(out))] = b"" if opaque else path.read_bytes()
        return found

    def temporary(self):
        """Return the temporary files that are there.

        But the folder in which Python starts processes over a socket: kill -9 leaves it.
        """
        found = self._temporary.rglob("*")
        return sorted(str(path) for path in found if "/pymp-" not in str(path))

    def orphans(self, seconds=120.0):
        """Return what still runs of the command after so many seconds."""
        mark = f"TMPDIR={self._temporary}".encode()
        return _after(seconds, lambda: _with(mark))

    def shared_memory(self, seconds=120.0):
        """Return what is new in shared memory after so many seconds, when others are done."""
        return _after(seconds, lambda: sorted(set(SHARED.iterdir()) - self._shared))

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)  # a disk that is mounted there stays
        shutil.rmtree(self._temporary, ignore_errors=True)


def _after(seconds, found):
    """Return what is found when nothing is, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while (there := found()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return there


def _with(mark):
    """Return the processes in whose environment a text stands."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes().split(b"\0")
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark in environment and state != "Z" and int(path.name) != os.getpid():
            found.append(int(path.name))
    return found


def assert_one_sentence(code, said, at):
    """Say that a command was refused in a sentence, or that it did without the call."""
    assert code in EXIT_CODES, (at, said)
    assert "Traceback" not in said, (at, said)
    errors = " ".join(said.split()).count("Error: ")
    assert errors == (code != 0) or (code and errors == 2), (at, said)  # two runs of a sweep


def assert_goes_on(place, expected, at):
    """Give the command again; what it leaves are the bytes of the one that was never stopped."""
    code, said = place.run()
    assert code == 0, (at, said)
    found = place.left()
    names = expected.keys() | found.keys()
    assert [name for name in names if found.get(name) != expected.get(name)] == [], at
    assert place.temporary() == [], at
    assert place.orphans() == [], at
    assert place.shared_memory() == [], at
    place.remove()
