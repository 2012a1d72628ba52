"""Every rule and path on a real SuperLink, whatever is killed: the bytes of one machine."""

import threading

import pytest

from deployed import digits, run_deployed, run_embedded, same_bytes, wait_for
from fedmgda.flower.deployment._deployment import DeploymentError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", ["compiled", "torch"])
@pytest.mark.parametrize(
    ("rule", "tables"),
    [
        ("fedavg", {}),
        ("fedmgda+", {}),
        ("q-fedavg", {}),
        ("fedmgda+", {"server": {"protect": True}}),
    ],
    ids=["fedavg", "fedmgda+", "q-fedavg", "protected"],
)
def test_a_deployment_changes_no_byte(deployment, tmp_path, rule, tables, path):
    spec = digits(rule, path, evaluation={"every": 2, "improved": True}, **tables)
    end, news = run_deployed(deployment, spec, tmp_path / "deployed")
    assert end.code == 0, (end, news)
    run_embedded(spec, tmp_path / "embedded")
    assert same_bytes(tmp_path / "embedded", tmp_path / "deployed") == []


def run_in_background(deployment, spec, out):
    """Return a thread that runs, and where its end or its error will be."""
    ends = []

    def run():
        try:
            ends.append(run_deployed(deployment, spec, out)[0])
        except DeploymentError as error:
            ends.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, ends


def kill(deployment, command):
    """Kill -9 the process of the deployment that runs a command."""
    (process,) = deployment.running(command)
    process.kill()
    assert wait_for(lambda: not deployment.running(command), 10)


def has_rounds(out, count):
    rounds = out / "rounds.jsonl"
    return wait_for(lambda: rounds.exists() and rounds.read_bytes().count(b"\n") >= count, 300)


def test_a_killed_server_app_costs_nothing(deployment, tmp_path):
    spec, out = digits(rounds=4, server={"protect": True}), tmp_path / "deployed"
    thread, ends = run_in_background(deployment, spec, out)
    assert has_rounds(out, 2)
    kill(deployment, "flwr-serverapp")
    thread.join(60)
    (end,) = ends
    assert end.code == 1
    assert "the same command goes on" in end.sentence
    done = (out / "rounds.jsonl").read_bytes()
    assert run_deployed(deployment, spec, out)[0].code == 0
    run_embedded(spec, tmp_path / "embedded")
    assert same_bytes(tmp_path / "embedded", out) == []
    assert (out / "rounds.jsonl").read_bytes().startswith(done.rpartition(b"\n")[0])


def test_a_killed_superlink_is_started_again_and_the_run_goes_on(deployment, tmp_path):
    spec, out = digits(rounds=4, server={"protect": True}), tmp_path / "deployed"
    thread, ends = run_in_background(deployment, spec, out)
    assert has_rounds(out, 2)
    kill(deployment, "flower-superlink")
    thread.join(60)
    assert [type(end) for end in ends] == [DeploymentError]
    assert "The SuperLink ended with code -9" in str(ends[0])
    assert wait_for(lambda: not deployment.running("flwr-serverapp"), 60)
    deployment.start_superlink()
    end, news = run_deployed(deployment, spec, out)
    assert end.code == 0, (end, news)
    run_embedded(spec, tmp_path / "embedded")
    assert same_bytes(tmp_path / "embedded", out) == []
