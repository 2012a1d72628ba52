"""However a command with a deployment of its own ends, nothing of it is left."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

from deployed import digits, listeners, run_embedded, same_bytes
from fedmgda.experiments import to_toml

pytestmark = pytest.mark.slow


def watch(process, until):
    """Return all descendants a command ever had and all it listened on, until it is to end."""
    whole, family, ports = psutil.Process(process.pid), set(), set()
    while process.poll() is None and not until():
        family |= set(whole.children(recursive=True))
        ports |= listeners(family)
        time.sleep(0.2)
    return family, ports


def start(spec, folder):
    path = folder / "spec.toml"
    path.write_text(to_toml(spec))
    command = [sys.executable, "-m", "fedmgda", "flower", "run", str(path), "--nodes", "3"]
    command += ["--engine", "local-deployment", "--out", str(folder / "run")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def assert_nothing_left(family, ports):
    assert len(family) > 8  # a SuperLink, its nodes, their workers, and what they start
    assert {address.ip for address in ports} == {"127.0.0.1"}
    _, left = psutil.wait_procs(family, 15)
    assert left == []
    mine = {address.port for address in ports}
    now = {c.laddr.port for c in psutil.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert not mine & now


def never():
    return False


def test_a_run_that_succeeds(tmp_path):
    spec = digits(rounds=1)
    process = start(spec, tmp_path)
    family, ports = watch(process, never)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert_nothing_left(family, ports)
    run_embedded(spec, tmp_path / "embedded")
    assert same_bytes(tmp_path / "embedded", tmp_path / "run") == []


def test_a_run_that_fails(tmp_path):
    process = start(digits("fedavg", rounds=5, clients={"client_lr": 1e30}), tmp_path)
    family, ports = watch(process, never)
    _, said = process.communicate()
    assert process.returncode == 6, said
    assert_nothing_left(family, ports)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped(tmp_path, number):
    spec, rounds = digits(rounds=6), tmp_path / "run" / "rounds.jsonl"
    process = start(spec, tmp_path)
    family, ports = watch(process, lambda: rounds.exists() and rounds.read_bytes())
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number), said
    assert_nothing_left(family, ports)
    if number == signal.SIGTERM:  # and nothing is lost
        process = start(spec, tmp_path)
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
        run_embedded(spec, tmp_path / "embedded")
        assert same_bytes(tmp_path / "embedded", tmp_path / "run") == []
