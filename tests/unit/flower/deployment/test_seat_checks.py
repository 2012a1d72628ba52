"""A node with a wrong key, certificate or file is refused before anything starts."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from fedmgda.cli._app import run_app
from fedmgda.flower.deployment import _keys, _supernode
from fedmgda.flower.deployment._environment import quiet_environment
from fedmgda.flower.deployment._keys import make_node_key, make_server_keys
from tables import write_rows


@pytest.fixture
def keys(tmp_path):
    make_server_keys(tmp_path, nodes=["node0"])
    return tmp_path


@pytest.fixture
def node(keys, monkeypatch, capfd):
    """Return what starts a node with other options, gives its exit code and what it says."""

    def start(**options):
        options = {"key": keys / "node0", "root-certificates": keys / "ca.crt"} | options
        words = [f"--{name}={value}" for name, value in options.items()]
        fixed = ["--superlink=127.0.0.1:1", "--node=0", "--nodes=1"]
        monkeypatch.setattr("sys.argv", ["fedmgda", "flower", "node", *fixed, *words])
        code = run_app()
        return code, " ".join(capfd.readouterr().err.split())

    return start


def test_rows_that_are_not_there_are_no_node(node, keys):
    code, said = node(data=keys / "missing.csv")
    assert (code, f"{keys / 'missing.csv'} is not there" in said) == (3, True)
    (keys / "empty.csv").touch()
    code, said = node(data=keys / "empty.csv")
    assert (code, "empty.csv is empty" in said) == (3, True)
    write_rows(keys / "twice.csv", ["age", "age"], [[1, 2]])
    code, said = node(data=keys / "twice.csv")
    assert (code, "two columns called 'age'" in said) == (3, True)
    (keys / "folder").mkdir()
    code, said = node(data=keys / "folder")
    assert (code, "it has none" in said) == (3, True)


def test_a_key_must_be_the_private_one_of_a_curve(node, keys):
    code, said = node(key=keys / "nobody")
    assert (code, "nobody cannot be read (No such file" in said) == (2, True)
    code, said = node(key=keys / "node0.pub")
    assert (code, "node0.pub is a public key" in said) == (2, True)
    (keys / "text").write_text("a key")
    plain = serialization.NoEncryption()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH)
    other = ed25519.Ed25519PrivateKey.generate().private_bytes(*form, plain)
    (keys / "other").write_bytes(other)
    for name in ("text", "other", "server.key"):
        code, said = node(key=keys / name)
        assert (code, f"{name} is not a private key that Flower takes" in said) == (2, True)


def test_the_certificate_must_be_one_and_last(node, keys, monkeypatch):
    code, said = node(**{"root-certificates": keys / "ca.pem"})
    assert (code, "ca.pem cannot be read" in said) == (2, True)
    code, said = node(**{"root-certificates": keys / "node0"})
    assert (code, "node0 holds no certificate" in said) == (2, True)

    class Past(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) - timedelta(days=90)

    monkeypatch.setattr(_keys, "datetime", Past)
    make_server_keys(keys / "old", days=1)
    code, said = node(**{"root-certificates": keys / "old" / "ca.crt"})
    day = (datetime.now(UTC) - timedelta(days=89)).strftime("%Y-%m-%d")
    assert (code, f"ended on {day}" in said) == (2, True)


def fake_node(folder, code):
    """Put a program in the place of Flower's SuperNode."""
    program = folder / "flower-supernode"
    program.write_text(f"#!{sys.executable}\nimport sys, time\n{code}\n")
    program.chmod(0o755)


@pytest.fixture
def as_flower(tmp_path, monkeypatch):
    def environment(home):
        found = quiet_environment(home)
        return {**found, "PATH": f"{tmp_path}{os.pathsep}{found['PATH']}"}

    monkeypatch.setattr(_supernode, "quiet_environment", environment)
    return lambda code: fake_node(tmp_path, code)


def test_a_key_that_the_superlink_does_not_know_is_said_with_what_to_do(node, as_flower):
    as_flower("print('ERROR: Exit Code: 305\\n[code: 2004] no'); sys.exit(1)")
    code, said = node()
    assert code == 6
    assert "127.0.0.1:1 does not know this key, or cannot be reached" in said
    assert "flwr supernode register node0.pub NAME" in said
    as_flower("print('something else', flush=True); sys.exit(1)")
    assert node() == (1, "something else")


def test_a_superlink_that_does_not_answer_is_said(node, as_flower, monkeypatch):
    monkeypatch.setattr(_supernode, "_SILENCE", 2.0)
    as_flower("time.sleep(5); sys.exit(1)")
    assert "No answer yet from the SuperLink 127.0.0.1:1; is it running there" in node()[1]
    as_flower("print('SuperNode ID: 7', flush=True); time.sleep(5); sys.exit(1)")
    assert "No answer yet" not in node()[1]


def test_a_node_that_is_stopped_does_not_speak_of_a_run(keys):
    make_node_key(keys, "other")
    command = ["fedmgda", "flower", "node", "--superlink=127.0.0.1:1", "--node=0", "--nodes=1"]
    code = f"import sys; sys.argv = {[*command, '--insecure']!r}\nimport fedmgda.cli\n"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{code}fedmgda.cli.main()"], stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "Starting Flower SuperNode" in line:
            break
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 143
    assert "The node has left; the same command brings it back." in said
    assert "Nothing is lost" not in said
