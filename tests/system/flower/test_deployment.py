"""Specs on a real SuperLink and real SuperNodes, with TLS and keys."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from deployed import digits, listeners, run_embedded, same_bytes, wait_for
from fedmgda.experiments import open_run, to_toml
from fedmgda.flower.deployment._deployment import CONNECTION
from fedmgda.flower.deployment._keys import make_node_key
from fedmgda.flower.deployment._ports import HOST, free_ports
from fedmgda.flower.deployment._seat import Seat
from fedmgda.flower.deployment._submission import flwr_json


def start_stranger(deployment, folder, **options):
    """Start a SuperNode that is none of the deployment's; it says whose place it takes."""
    seat = Seat(superlink=deployment.address, index=0, nodes=3, **options)
    words = seat.command(deployment.folder / "w0", free_ports(1)[0])
    log = (folder / "log").open("wb")
    with log:
        return subprocess.Popen(
            words, env=deployment.environment, stdout=log, stderr=log, start_new_session=True
        )


def command(spec, folder, *options):
    """Return the command line that runs a spec on Flower."""
    path = folder / "spec.toml"
    path.write_text(to_toml(spec))
    return [sys.executable, "-m", "fedmgda", "flower", "run", str(path), *map(str, options)]


@pytest.fixture
def strangers(deployment, tmp_path):
    """Nodes that must not matter: a key nobody registered, no TLS at all, another's clients."""
    started = {}
    for name in ("unregistered", "plain", "impostor"):
        folder = tmp_path / name
        key = make_node_key(folder, "key")
        options = {"authority": deployment.authority, "key": key.private}
        if name == "impostor":
            public = str(key.public)
            flwr_json(deployment.environment, "supernode", "register", public, CONNECTION)
        started[name] = start_stranger(deployment, folder, **({} if name == "plain" else options))
    yield started
    for process in started.values():
        for member in psutil.Process(process.pid).children(True) if process.poll() is None else ():
            member.kill()
        process.kill()
        process.wait()


def test_a_protected_run_is_that_of_one_machine_and_no_stranger_enters(
    deployment, strangers, tmp_path
):
    assert wait_for(lambda: strangers["unregistered"].poll() is not None, 60)
    assert strangers["unregistered"].returncode != 0
    log = tmp_path / "impostor" / "log"
    assert wait_for(lambda: b"SuperNode ID" in log.read_bytes(), 60)
    impostor = log.read_text().split("SuperNode ID: ")[1].split()[0]

    spec, out = digits(server={"protect": True}), tmp_path / "deployed"
    (tmp_path / "roster.json").write_text(deployment.roster)
    options = ["--superlink", CONNECTION, "--nodes", "3", "--roster", tmp_path / "roster.json"]
    done = subprocess.run(
        command(spec, tmp_path, *options, "--out", out),
        env=deployment.environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "round 2 of 2" in done.stderr
    run_embedded(spec, tmp_path / "embedded")
    assert same_bytes(tmp_path / "embedded", tmp_path / "deployed") == []
    assert open_run(tmp_path / "deployed").check() is None

    lines = (tmp_path / "deployed" / "nodes.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    joined = {event["node"]: event["clients"] for event in events if event["event"] == "joined"}
    ids = deployment.node_ids
    assert joined == {node: [i, i + 3] for i, node in enumerate(ids)}
    refused = [event for event in events if event["event"] == "refused"]
    assert [(event["node"], event["clients"]) for event in refused] == [(impostor, [0, 3])]
    assert {event["node"] for event in events} == {*ids, impostor}
    assert b"SuperNode ID" not in (tmp_path / "plain" / "log").read_bytes()


def test_everything_listens_on_the_loopback_only(deployment):
    found = listeners(deployment.processes())
    assert found
    assert {address.ip for address in found} == {HOST}


def test_an_interrupted_command_leaves_no_process(tmp_path):
    options = ["--engine", "local-deployment", "--out", tmp_path / "run", "--nodes", "2"]
    process = subprocess.Popen(command(digits(), tmp_path, *options), stderr=subprocess.PIPE)
    whole = psutil.Process(process.pid)
    try:
        assert wait_for(lambda: listeners(whole.children(recursive=True)), 120)
        family = whole.children(recursive=True)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, said
    _, left = psutil.wait_procs(family, 15)
    assert left == []
