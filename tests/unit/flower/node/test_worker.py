import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from fedmgda._errors import FedmgdaError
from fedmgda.flower.node._worker import WorkerLostError, ask, keep

# A worker whose questions are what it is to do.
WORKER = """
import os, socket, sys, time
from fedmgda.flower.node._worker import leave_with_parent, serve

def answer(question):
    word, _, rest = question.decode().partition(" ")
    if word == "exit":
        os._exit(int(rest))
    if word == "sleep":
        time.sleep(float(rest))
    return str(os.getpid()).encode() if word == "who" else question

leave_with_parent()
serve(socket.socket(fileno=int(sys.argv[1])), answer)
"""
KEEPER = """
import sys
from pathlib import Path
from fedmgda.flower.node._worker import keep
keep(Path(sys.argv[1]), [sys.executable, "-c", sys.argv[2]])
"""


def wait_for_listener():
    """Wait until somebody listens at the socket, which is there a moment before."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as line:
            if line.connect_ex("w") == 0:
                return
        time.sleep(0.02)


@pytest.fixture
def worker(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, "w", WORKER])
    wait_for_listener()
    yield keeper
    keeper.terminate()
    keeper.wait()


def test_an_answer_comes_from_one_resident_process(worker):
    first = ask("w", b"who", 30)
    assert ask("w", b"who", 30) == first
    assert int(first) != worker.pid
    large = os.urandom(3_000_000)
    assert ask("w", b"echo " + large.hex().encode(), 30) == b"echo " + large.hex().encode()


def test_the_socket_is_this_users_alone(worker):
    assert stat.S_IMODE(Path("w").stat().st_mode) == 0o600


def test_a_worker_that_ends_over_a_question_is_told_at_once_and_replaced(worker):
    first = ask("w", b"who", 30)
    started = time.monotonic()
    with pytest.raises(WorkerLostError, match="ended before it had answered"):
        ask("w", b"exit 7", 30)
    assert time.monotonic() - started < 5
    assert ask("w", b"who", 30) != first


def test_a_killed_worker_is_replaced(worker):
    first = int(ask("w", b"who", 30))
    dying = psutil.Process(first)
    os.kill(first, signal.SIGKILL)
    psutil.wait_procs([dying], 10)
    assert int(ask("w", b"who", 30)) != first


def test_a_stuck_worker_is_given_up_at_the_deadline_and_replaced(worker):
    first = ask("w", b"who", 30)
    started = time.monotonic()
    with pytest.raises(WorkerLostError, match=r"did not answer within 0\.5 s"):
        ask("w", b"sleep 600", 0.5)
    assert time.monotonic() - started < 5
    assert ask("w", b"who", 30) != first


def test_an_asker_that_says_nothing_keeps_nobody_waiting_for_ever(worker):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect("w")
        silent.sendall(b"\xff" * 8)  # a length that is none
        assert ask("w", b"still here", 30) == b"still here"


def test_no_worker_is_a_sentence(tmp_path):
    with pytest.raises(WorkerLostError, match="cannot be asked: No such file"):
        ask(tmp_path / "none", b"", 1)


def test_worker_and_keeper_end_with_their_parent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = (
        "import subprocess, sys, time; "
        "p = subprocess.Popen([sys.executable, '-c', *sys.argv[1:]]); p.wait()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, KEEPER, "w", WORKER])
    try:
        wait_for_listener()
        ask("w", b"who", 30)
        family = psutil.Process(parent.pid).children(recursive=True)
    finally:
        parent.kill()
        parent.wait()
    assert len(family) == 2
    _, left = psutil.wait_procs(family, 10)
    assert left == []
    assert not Path("w").exists()


def test_a_path_too_long_for_a_socket_is_refused(tmp_path):
    with pytest.raises(FedmgdaError, match="too long for the path of a socket"):
        keep(tmp_path / ("w" * 120), [])


def test_a_question_waits_for_the_one_before(worker):
    answers = []
    slow = threading.Thread(target=lambda: answers.append(ask("w", b"sleep 1", 30)))
    slow.start()
    time.sleep(0.2)
    answers.append(ask("w", b"next", 30))
    slow.join()
    assert sorted(answers) == [b"next", b"sleep 1"]
