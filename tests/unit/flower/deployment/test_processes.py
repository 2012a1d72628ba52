import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import psutil

from fedmgda.flower.deployment._processes import Family

CHILD = """
import signal, sys, time
if sys.argv[1] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(1, flush=True)
time.sleep(600)
"""
# Starts a child in a session of its own, then waits for ever.
PARENT = """
import subprocess, sys, time
child = [sys.executable, "-c", *sys.argv[1:]]
started = subprocess.Popen(child, start_new_session=True, stdout=subprocess.PIPE)
started.stdout.readline()
print("ready", flush=True)
time.sleep(600)
"""


def start_and_wait(family, log, name="parent", mood="docile"):
    process = family.start(name, [sys.executable, "-c", PARENT, CHILD, mood], log)
    until = time.monotonic() + 30
    while "ready" not in log.read_text() and time.monotonic() < until:
        time.sleep(0.02)
    assert "ready" in log.read_text()
    return process


def alive(pids):
    return [
        pid
        for pid in pids
        if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]


def wait_until_gone(pids, seconds=15.0):
    until = time.monotonic() + seconds
    while (left := alive(pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def test_a_family_ends_with_its_block_down_to_who_ignores_being_asked(tmp_path):
    with closing(Family(os.environ)) as family:
        start_and_wait(family, tmp_path / "log", mood="stubborn")
        pids = [member.pid for member in family.members()]
        assert len(pids) == 2
    assert alive(pids) == []


def test_an_orphan_is_found_by_its_token(tmp_path):
    with closing(Family(os.environ)) as family:
        process = start_and_wait(family, tmp_path / "log")
        pids = [member.pid for member in family.members()]
        process.send_signal(signal.SIGKILL)
        process.wait()
        orphans = [member.pid for member in family.members()]
        assert orphans == [pid for pid in pids if pid != process.pid]
        assert family.ended() == {"parent": -signal.SIGKILL}
    assert alive(pids) == []


def test_stopping_one_leaves_the_others(tmp_path):
    with closing(Family(os.environ)) as family:
        kept = start_and_wait(family, tmp_path / "kept", "kept")
        before = {member.pid for member in family.members()}
        start_and_wait(family, tmp_path / "stopped", "stopped")
        family.stop("stopped")
        assert {member.pid for member in family.members()} == before
        assert kept.poll() is None


def test_a_stranger_is_left_alone(tmp_path):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        with closing(Family(os.environ)) as family:
            start_and_wait(family, tmp_path / "log")
            with closing(Family(os.environ)) as other:
                assert other.members() == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


WHOLE = """
import os, sys, time
from pathlib import Path
from fedmgda.flower.deployment._processes import Family
family = Family(os.environ)
family.start("parent", [sys.executable, "-c", *sys.argv[2:]], Path(sys.argv[1]))
time.sleep(600)
"""


def test_a_family_whose_parent_is_killed_ends_all_the_same(tmp_path):
    log = tmp_path / "log"
    log.touch()
    whole = subprocess.Popen([sys.executable, "-c", WHOLE, log, PARENT, CHILD, "docile"])
    until = time.monotonic() + 30
    while "ready" not in log.read_text() and time.monotonic() < until:
        time.sleep(0.02)
    pids = [child.pid for child in psutil.Process(whole.pid).children(recursive=True)]
    assert len(pids) == 3  # the guard, the parent, its child
    whole.kill()
    whole.wait()
    assert wait_until_gone(pids) == []
