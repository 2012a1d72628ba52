"""The same spec on Flower's Ray runtime: the same bytes, and an end that can be gone on from."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from deployed import listeners, wait_for
from fedmgda.experiments import open_run, to_toml
from fedmgda.flower.wire._end import end_file
from runs import finished_run, results, small_spec

RULES = {
    "fedavg": {"rule": {"name": "fedavg"}},
    "fedmgda+": {"rule": {"name": "fedmgda+"}},
    "q-fedavg": {"rule": {"name": "q-fedavg", "q": 1.0}},
    "protected": {"server": {"protect": True}},
}
PROGRAM = """
import sys
from pathlib import Path
from fedmgda.experiments import Spec, parse, parse_toml
from fedmgda.flower._simulation import simulate_on_ray
spec = parse(Spec, parse_toml(Path(sys.argv[1]).read_bytes(), Path("spec")))
sys.exit(simulate_on_ray(spec, Path(sys.argv[2]), 3).code)
"""


def table(rule, path):
    return {"data": {"num_clients": 6}, "clients": {"per_round": 4, "path": path}} | RULES[rule]


def start(folder, out, **spec):
    text = folder / "spec.toml"
    text.write_text(to_toml(small_spec(**spec)))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(text), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "FLWR_HOME": str(folder / "home")},
    )


def ended(process, seconds=300):
    """Return the exit code of a process; nothing that it started may be left."""
    children = psutil.Process(process.pid).children(recursive=True)
    said, _ = process.communicate(timeout=seconds)
    _, alive = psutil.wait_procs(children, timeout=15)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
    return process.returncode, said


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        pytest.param(
            rule, path, marks=[] if (rule, path) == ("protected", "compiled") else pytest.mark.slow
        )
        for rule in RULES
        for path in ("compiled", "torch")
    ],
)
def test_the_bytes_of_a_run_in_this_process(tmp_path, rule, path):
    finished_run(tmp_path / "here", **table(rule, path))
    process = start(tmp_path, tmp_path / "ray", **table(rule, path))
    assert wait_for((tmp_path / "ray" / "evaluations.jsonl").exists, 200)
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    heard_on = {address.ip for address in listeners(family)}
    code, said = ended(process)
    assert code == 0, said
    assert heard_on, "Ray listens somewhere"
    assert heard_on <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    assert results(tmp_path / "ray") == results(tmp_path / "here")
    assert "DEPRECATED" not in said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_same_command_goes_on(tmp_path, number):
    long = table("fedmgda+", "compiled") | {"rounds": 60}
    finished_run(tmp_path / "here", **long)
    process = start(tmp_path, tmp_path / "ray", **long)
    until = time.monotonic() + 200
    while time.monotonic() < until and process.poll() is None:
        lines = tmp_path / "ray" / "rounds.jsonl"
        if lines.exists() and len(lines.read_bytes().splitlines()) >= 5:
            break
        time.sleep(0.05)
    process.send_signal(number)
    code, said = ended(process, 60)
    assert code == 128 + number, said
    done = len(open_run(tmp_path / "ray").rounds)
    assert 5 <= done < 60
    assert f'"exit_code": {code}' in end_file(tmp_path / "ray").read_text()
    code, said = ended(start(tmp_path, tmp_path / "ray", **long))
    assert code == 0, said
    assert f"round {done} of 60" in said
    assert results(tmp_path / "ray") == results(tmp_path / "here")
