"""Processes that belong together: started with one token, found by it again, stopped by their ids.

Flower's processes start others, some of them in sessions of their own, and those outlive whoever
started them. So nothing here relies on being told: whose environment has the token belongs to the
family, and so does every descendant of one that was started here, and every process that was told
to speak to an address of the family (a process may hide its environment, not its command line).
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, final

import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TOKEN", "Family", "stop_family"]

TOKEN = "FEDMGDA_FLOWER_TOKEN"  # noqa: S105 (the name of a variable; its value protects nothing)
_GRACE = 6.0  # seconds in which a process may end by itself once it was asked
_LAST = 5.0  # seconds in which a process that was killed is gone
_PAUSE = 0.05


@final
class Family:
    """Starts processes and stops them with all that they have started, whatever happens.

    A guard, itself a process, does the same if this one is killed and can do nothing any more.
    """

    def __init__(self, environment: Mapping[str, str], addresses: Sequence[str] = ()) -> None:
        self._token, self._addresses = secrets.token_hex(16), tuple(addresses)
        self._environment = {**environment, TOKEN: self._token}
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        guard = [sys.executable, "-m", "fedmgda.flower.deployment.guard", self._token, *addresses]
        # Its standard input ends when this process does; the token would make it stop itself.
        self._guard = subprocess.Popen(
            guard, stdin=subprocess.PIPE, env=dict(environment), start_new_session=True
        )

    @property
    def environment(self) -> dict[str, str]:
        """What a process must be started with to belong to the family."""
        return dict(self._environment)

    def start(
        self, name: str, command: Sequence[str], log: Path | int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process in the background; what it prints is added to a file.

        Args:
            name: What it is called here; a process of that name that has ended is replaced.
            command: The program, found on the family's PATH, and its arguments.
            log: The file, or the descriptor of an open one; None prints where this process does.
        """
        with ExitStack() as stack:
            printed = stack.enter_context(log.open("ab")) if isinstance(log, Path) else log
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env=self._environment,
                start_new_session=True,  # Ctrl-C is for this process to decide on
            )
        self._started[name] = process
        return process

    def ended(self) -> dict[str, int]:
        """Return which of the processes started here have ended, and their exit codes."""
        codes = {name: process.poll() for name, process in self._started.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def disown(self, address: str) -> None:
        """Take note that somebody else listens on an address: who speaks to it is a stranger."""
        self._addresses = tuple(known for known in self._addresses if known != address)

    def members(self) -> list[psutil.Process]:
        """Return all processes of the family that are alive."""
        alive = [p.pid for p in self._started.values() if p.poll() is None]
        return _members(self._token, self._addresses, alive)

    def stop(self, name: str) -> None:
        """Stop one process and its descendants; do nothing if it has ended."""
        process = self._started.pop(name, None)
        if process is None:
            return
        with suppress(psutil.NoSuchProcess):
            _end(_with_descendants(psutil.Process(process.pid)))
        process.wait(_LAST)

    def close(self) -> None:
        """Stop everything; when this returns, no process of the family is left."""
        roots = [process.pid for process in self._started.values() if process.poll() is None]
        stop_family(self._token, self._addresses, roots)
        for process in self._started.values():
            process.wait(_LAST)
        self._started.clear()
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._guard.wait(_LAST)


def stop_family(token: str, addresses: Sequence[str], roots: Sequence[int] = ()) -> None:
    """Ask all processes of a family to end, then end those that did not.

    Args:
        token: What stands in their environments.
        addresses: What stands in the command lines of those that hide theirs.
        roots: Ids of processes all of whose descendants belong to the family.
    """
    until = time.monotonic() + _GRACE + _LAST
    members = _members(token, addresses, roots)
    while members and time.monotonic() < until:
        _end(members)
        members = _members(token, addresses, ())  # what was being started meanwhile


def _members(token: str, addresses: Sequence[str], roots: Sequence[int]) -> list[psutil.Process]:
    found = {psutil.Process()}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid in roots:
                found |= set(_with_descendants(process))
            elif process not in found and _belongs(process, token, addresses):
                found.add(process)
    return sorted(found - {psutil.Process()}, key=lambda process: process.pid)


def _belongs(process: psutil.Process, token: str, addresses: Sequence[str]) -> bool:
    if process.status() == psutil.STATUS_ZOMBIE or process.uids().real != os.getuid():
        return False
    try:
        return process.environ().get(TOKEN) == token
    except psutil.AccessDenied:
        # Not this program's guard, which is told the addresses too but hides nothing.
        return bool(set(process.cmdline()) & set(addresses))


def _with_descendants(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def _end(processes: Sequence[psutil.Process]) -> None:
    """Ask, wait, kill, wait."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(processes, _GRACE)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, _LAST)
