"""No command but two speaks to anybody, and none runs what it was not asked to: audited.

Every Python process of these commands, workers included, has an audit hook of the interpreter that
writes down sockets, programs and what pickle looks up, and on whose behalf.
"""

import json
import os
import re
import socket
import subprocess
import sys

import pytest

from tables import write_table

HOOK = """
import json, os, sys

LOG = os.open(os.environ["AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
WATCHED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn",
           "pickle.", "webbrowser.", "urllib.", "http.", "ftplib.", "smtplib.", "exec_code")


def callers():
    frame, found = sys._getframe(2), []
    while frame is not None:
        found.append(frame.f_globals.get("__name__", "?"))
        frame = frame.f_back
    return found


def told(event, details):
    if event.startswith(WATCHED):
        line = json.dumps([event, [repr(x)[:200] for x in details], callers()])
        os.write(LOG, line.encode() + b"\\n")


os.write(LOG, json.dumps(["process", sys.orig_argv, []]).encode() + b"\\n")
sys.addaudithook(told)
"""

COMMANDS = """
import json, sys
from fedmgda.cli._app import run_app
if __name__ == "__main__":
    codes = []
    for arguments in json.loads(sys.argv[1]):
        sys.argv = ["fedmgda", *arguments]
        codes.append(run_app())
    print(json.dumps(codes), file=sys.stderr)
"""

ALL = [
    ["init", "visits.csv"],
    ["run", "visits.toml", "-o", "table", "-c", "rounds=2", "-c", "data.min_rows=3"],
    ["predict", "table", "visits.csv", "-o", "scored.csv"],
    ["run", "spec.toml", "-o", "compiled"],
    ["run", "spec.toml", "-o", "torch", "-c", "clients.path=torch", "-c", "engine.workers=2"],
    ["resume", "compiled"],
    ["sweep", "spec.toml", "-o", "sweep", "-c", "sweep.seeds=[0, 1]"],
    ["verify", "compiled"],
    ["compare", "compiled", "torch"],
    ["report", "compiled", "torch", "-o", "page.html"],
    ["data", "list"],
    ["data", "import", "femnist", "leaf"],
    ["data", "verify", "femnist"],
    ["data", "plot", "compiled", "-o", "plot.png"],
    ["reproduce", "list"],
    ["explain", "rule.epsilon"],
    ["run", "spec.toml", "--dry-run"],
]
SPEC = "rounds = 2\n[data]\nnum_clients = 4\n[model]\nhidden = [2]\n[clients]\nper_round = 2\n"


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Return the exit codes of all commands, and what the hooks of all processes wrote."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    (folder / "commands.py").write_text(COMMANDS)
    (folder / "spec.toml").write_text(SPEC)
    write_table(folder / "visits.csv")
    (folder / "leaf").mkdir()
    (folder / "leaf" / "all_data_0.json").write_text('{"users": [], "user_data": {}}')
    changes = {
        "AUDIT_LOG": str(folder / "log"),
        "PYTHONPATH": str(folder / "hook"),
        "FEDMGDA_DATA": str(folder / "cache"),
    }
    result = subprocess.run(
        [sys.executable, "commands.py", json.dumps(ALL)],
        cwd=folder, env=os.environ | changes, capture_output=True, text=True, check=False,
    )  # fmt: skip
    codes = json.loads(result.stderr.splitlines()[-1])
    lines = (folder / "log").read_text().splitlines()
    return dict(zip(map(" ".join, ALL), codes, strict=True)), [json.loads(line) for line in lines]


def test_the_commands_did_their_work(audited):
    codes, events = audited
    assert set(codes.values()) == {0}, codes
    assert sum(event == "process" for event, _, _ in events) >= 3, "workers were audited too"


def test_nobody_is_spoken_to(audited):
    """But workers of ours, over local sockets: pairs without a name, or in a folder of our own."""
    web = ("urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.")
    for event, details, callers in audited[1]:
        assert not event.startswith(web), (event, details, callers)
        if event.startswith("socket."):
            family = details[1] if event == "socket.__new__" else details[0]
            assert re.search(rf"(^|family=)({socket.AF_UNIX:d}|\S*AF_UNIX)\b", family), details
            assert any(name.startswith("multiprocessing.") for name in callers), callers


def test_no_program_is_started_but_git_and_our_own_workers(audited):
    for event, details, callers in audited[1]:
        if event.startswith(("subprocess.", "os.")):
            assert event == "subprocess.Popen", (event, details, callers)
            assert details[0].strip("'").rpartition("/")[2] == "git", (details, callers)
            assert "fedmgda.experiments._environment" in callers, callers
        if event == "process":
            ours = "commands.py" in details or any("multiprocessing." in word for word in details)
            assert ours, details


def test_pickle_serves_our_workers_and_the_compiler_alone(audited):
    """Whatever is looked up is looked up for multiprocessing, or for numba's cache."""
    looked_up = [line for line in audited[1] if line[0] == "pickle.find_class"]
    assert looked_up, "nothing was watched"
    for _, details, callers in looked_up:
        roots = {name.partition(".")[0] for name in callers}
        assert roots & {"multiprocessing", "numba"}, (details, callers)
