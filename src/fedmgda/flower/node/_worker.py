"""The resident worker of a node: torch, data and clients stay loaded between questions.

Flower starts a new process for every message. That process only carries the message to the worker,
over a Unix socket that nobody but this user can open, and its answer back.

The worker is two processes. The keeper owns the socket and does nothing else; the other one does
the work. If a client's code ends the latter, be it by `os._exit` or `kill -9`, the keeper starts
another one, and whoever asked is told at once. If whoever asked has left, because its deadline
has passed, the work is of no use any more: the worker ends, however deep a client is stuck.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from fedmgda._errors import FedmgdaError
from fedmgda.flower.wire._socket import check_socket_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["WorkerLostError", "ask", "keep", "leave_with_parent", "serve"]

_HEAD = struct.Struct(">Q")
_LARGEST = 1 << 33  # bytes of a question or an answer: 8 GiB, or the length is no length
_CHUNK = 1 << 20
_PAUSE = 1.0  # seconds between two workers that end at once
_EVERY = 0.5
_ASKER_LEFT = 3


class WorkerLostError(FedmgdaError):
    """The worker of a node ended, or did not answer in time."""


def ask(path: Path | str, question: bytes, seconds: float) -> bytes:
    """Send a question to a worker and return its answer.

    Args:
        path: The worker's socket.
        question: Any bytes.
        seconds: How long to wait for all of it.

    Raises:
        WorkerLostError: If there is no worker, it ended over the question, or the time is up.
    """
    until = time.monotonic() + seconds
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(seconds)
            line.connect(os.fspath(path))
            try:
                line.sendall(_HEAD.pack(len(question)) + question)
                answer = _receive(line, until)
            except (ConnectionResetError, BrokenPipeError):
                answer = None
    except TimeoutError:
        raise WorkerLostError(f"The worker did not answer within {seconds:g} s.") from None
    except OSError as error:
        reason = error.strerror or error
        raise WorkerLostError(f"The worker at {path} cannot be asked: {reason}.") from error
    if answer is None:
        raise WorkerLostError("The worker ended before it had answered.")
    return answer


def serve(listener: socket.socket, answer: Callable[[bytes], bytes]) -> None:
    """Answer questions, one at a time, until this process ends.

    Args:
        listener: The socket that askers connect to.
        answer: Returns the answer to a question.
    """
    while True:
        line, _ = listener.accept()
        with line:
            try:
                question = _receive(line, None)
            except (OSError, WorkerLostError):
                continue
            if question is None:
                continue  # an asker that left before it had asked
            done = threading.Event()
            watch = threading.Thread(target=_leave_with_asker, args=(line, done), daemon=True)
            watch.start()
            found = answer(question)
            done.set()
            watch.join()
            try:
                line.sendall(_HEAD.pack(len(found)) + found)
            except OSError:
                continue  # it left after all


def keep(path: Path, command: Sequence[str]) -> None:
    """Have a worker behind a socket for as long as this process's parent lives.

    Args:
        path: Where the socket is made; a socket that is there already is replaced.
        command: Starts a worker; the number of the listener's descriptor is added to it.
    """
    check_socket_path(path)
    path.unlink(missing_ok=True)
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o177)
        listener.bind(os.fspath(path))
        os.umask(before)
        listener.listen()
        number = listener.fileno()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        worker: subprocess.Popen[bytes] | None = None
        try:
            while os.getppid() == parent:
                if worker is None or worker.poll() is not None:
                    if worker is not None:
                        time.sleep(_PAUSE)
                    worker = subprocess.Popen([*command, str(number)], pass_fds=[number])
                _wait(worker)
        finally:
            path.unlink(missing_ok=True)
            if worker is not None:
                worker.kill()
                worker.wait()


def leave_with_parent() -> None:
    """End this process soon after its parent has ended, whatever it is doing."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _wait(worker: subprocess.Popen[bytes]) -> None:
    try:
        worker.wait(_EVERY)
    except subprocess.TimeoutExpired:
        return


def _leave_with_asker(line: socket.socket, done: threading.Event) -> None:
    poll = select.poll()
    poll.register(line, select.POLLIN)  # an asker sends one question: what comes now is its end
    while not done.is_set():
        if poll.poll(_EVERY * 1000 / 5):
            os._exit(_ASKER_LEFT)


def _receive(line: socket.socket, until: float | None) -> bytes | None:
    """Return one message; None if the other side ended before it was whole."""
    head = _exactly(line, _HEAD.size, until)
    if head is None:
        return None
    (size,) = _HEAD.unpack(head)
    if size > _LARGEST:
        raise WorkerLostError(f"A message of {size} bytes is larger than the {_LARGEST} allowed.")
    return _exactly(line, size, until)


def _exactly(line: socket.socket, size: int, until: float | None) -> bytes | None:
    parts, left = list[bytes](), size
    while left:
        if until is not None:
            line.settimeout(max(until - time.monotonic(), 0.001))
        part = line.recv(min(left, _CHUNK))
        if not part:
            return None
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
