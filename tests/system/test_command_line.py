"""The command line as a user meets it: in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedmgda.experiments import RunFolder, open_run
from runs import carry_on, results

SPEC = """
rounds = 4
[data]
num_clients = 6
[clients]
per_round = 3
[evaluation]
every = 2
"""


def fedmgda(*arguments, cwd, check=None, **options):
    result = subprocess.run(
        [sys.executable, "-m", "fedmgda", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        check=False,
        **options,
    )
    assert "Traceback" not in result.stderr
    if check is not None:
        assert result.returncode == check, result.stderr
    return result


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def test_run_then_resume_then_the_summary(spec, tmp_path):
    result = fedmgda(
        "run", "spec.toml", "--out", "first", "-c", "rule.epsilon=0.1", cwd=tmp_path, check=0
    )
    assert "fedmgda+, epsilon 0.1" in result.stderr
    assert len(result.stderr.splitlines()) <= 12, "a header, not the whole spec"
    assert "After round 4" in result.stdout
    assert "Everything about the run is in first" in result.stdout
    again = fedmgda("resume", "first", "--json", cwd=tmp_path, check=0)
    summary = json.loads(again.stdout)
    assert summary["round"] == 4
    assert result.stdout.rstrip().endswith(summary["verdict"]["headline"].split()[-1])


def test_a_run_that_diverged_is_an_exit_code_where_asked_for(spec, tmp_path):
    much = ("-c", "rule.name=fedavg", "-c", "clients.client_lr=300")
    shown = fedmgda("run", "spec.toml", "--out", "a", "--show-spec", *much, cwd=tmp_path, check=0)
    assert "client_lr = 300" in shown.stderr
    assert "It diverged: test loss " in shown.stdout
    assert "-c clients.client_lr=30 (now 300)" in " ".join(shown.stdout.split())
    fedmgda("run", "spec.toml", "--out", "b", "--strict", *much, cwd=tmp_path, check=9)
    fedmgda("resume", "a", "--strict", "--json", cwd=tmp_path, check=9)


def test_json_is_the_only_thing_on_standard_output(spec, tmp_path):
    result = fedmgda("run", "spec.toml", "--json", cwd=tmp_path, check=0)
    assert json.loads(result.stdout)["honest"]["users"] == 6
    assert (tmp_path / "runs" / "spec" / "DONE").exists()


def test_sweep_prints_one_table(spec, tmp_path):
    spec.write_text(SPEC + '[sweep]\nseeds = [0, 1]\n[sweep.grid]\n"rule.epsilon" = [0.0, 1.0]\n')
    result = fedmgda("sweep", "spec.toml", "-o", "out", "-j", "2", cwd=tmp_path, check=0)
    lines = result.stdout.splitlines()
    assert [word for word in lines[0].split() if word != "%"][:2] == ["rule.epsilon", "average"]
    assert all(len(line) <= 80 for line in lines[:3])
    assert (tmp_path / "out" / "summary.csv").exists()


def test_a_sweep_with_a_failed_run_says_which_and_ends_with_its_code(spec, tmp_path):
    grid = '[sweep.grid]\n"clients.client_lr" = [0.1, 1e30]\n'
    spec.write_text(SPEC.replace("rounds = 4", "rounds = 8") + "[sweep]\n" + grid)
    result = fedmgda("sweep", "spec.toml", "-o", "out", "-j", "2", cwd=tmp_path, check=6)
    assert "Error: clients.client_lr=1e+30_seed=0: No usable update in 5 rounds" in result.stderr
    assert "seeds" in result.stdout.splitlines()[0]
    assert "NaN" not in (tmp_path / "out" / "summary.json").read_text()
    result = fedmgda("run", "spec.toml", cwd=tmp_path, check=2)
    assert "spec.toml describes many runs; use: fedmgda sweep spec.toml" in result.stderr
    result = fedmgda("resume", "out", cwd=tmp_path, check=3)
    assert "out holds a sweep; the same fedmgda sweep command goes on with it." in result.stderr


def test_labels_are_printed_as_they_are(spec, tmp_path):
    spec.write_text(SPEC + "[[sweep.variants]]\nlabel = '[red]x[/blue]|y'\n")
    result = fedmgda("sweep", "spec.toml", "-o", "out", cwd=tmp_path, check=0)
    assert "[red]x[/blue]|y" in result.stdout
    assert "| [red]x[/blue]/y |" in (tmp_path / "out" / "summary.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ["-c", "rule.epsilom=1"],
            2,
            "There is no key 'rule.epsilom'; did you mean 'rule.epsilon'?",
        ),
        (
            ["-c", "rule.epsilon=big"],
            2,
            "rule.epsilon must be a finite number or a table with first, power, got 'big'.",
        ),
        (["-c", "rule.epsilon=1.5"], 2, "rule.epsilon must lie in [0, 1], got 1.5."),
        (["-c", "data.num_clients=0"], 2, "data.num_clients must lie in [1, 1e+06], got 0."),
        (["-c", "data.num_clients=1000"], 3, "1797 examples cannot be cut into 2000 shards."),
        (
            ["-c", "server.decay=0.1"],
            2,
            "server.decay = 0.1 changes nothing in 4 rounds, since the step falls after every 100",
        ),
        (["-c", "nonsense"], 2, "must have the form section.key=value."),
    ],
)
def test_a_bad_spec_is_one_sentence_and_exit_code(spec, tmp_path, arguments, code, sentence):
    result = fedmgda("run", "spec.toml", *arguments, cwd=tmp_path, check=code)
    assert result.stderr.strip().splitlines()[-1].startswith("Error: ")
    assert sentence in result.stderr
    assert result.stdout == ""


def test_a_missing_file_is_one_sentence(tmp_path):
    result = fedmgda("run", "missing.toml", cwd=tmp_path, check=3)
    assert (
        result.stderr == "Error: The file missing.toml cannot be read: No such file or directory.\n"
    )
    result = fedmgda("resume", "nowhere", cwd=tmp_path, check=3)
    assert result.stderr == "Error: nowhere holds no run: there is no spec.toml in it.\n"


def test_an_output_folder_that_cannot_be_written_is_one_sentence(spec, tmp_path):
    # A folder that refuses even the superuser: the place is taken by a file.
    (tmp_path / "taken").write_text("")
    result = fedmgda("run", "spec.toml", "--out", "taken/run", cwd=tmp_path, check=4)
    assert "taken/run cannot be written: Not a directory" in result.stderr


AS_NOBODY = """
import encodings.utf_8_sig, os, sys, rich.markup, rich.text, fedmgda.cli._app
if os.geteuid() == 0:  # the superuser may write anywhere: become somebody who may not
    os.setgid(65534)
    os.setuid(65534)
sys.exit(fedmgda.cli._app.run_app())
"""


def test_a_read_only_output_folder_is_one_sentence(spec, tmp_path):
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    (tmp_path / "readonly").mkdir(mode=0o555)
    result = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, "run", "spec.toml", "--out", "readonly/run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "readonly/run cannot be written: Permission denied" in result.stderr
    assert result.returncode == 4


def test_unknown_commands_and_options_have_the_usual_exit_code(tmp_path):
    assert fedmgda("frobnicate", cwd=tmp_path).returncode == 2
    assert fedmgda("run", cwd=tmp_path).returncode == 2
    assert fedmgda("run", "a.toml", "--frobnicate", cwd=tmp_path).returncode == 2


def test_help_and_version(tmp_path):
    assert "demo" in fedmgda("--help", cwd=tmp_path, check=0).stdout
    assert fedmgda("--version", cwd=tmp_path, check=0).stdout.strip() == "0.2.0"


@pytest.mark.parametrize(
    ("number", "code", "workers"), [(signal.SIGINT, 130, 2), (signal.SIGTERM, 143, 1)]
)
def test_a_signal_leaves_a_folder_that_resumes_to_the_same_bytes(
    spec, tmp_path, number, code, workers
):
    spec.write_text(SPEC.replace("rounds = 4", "rounds = 40"))
    command = [
        "run",
        "spec.toml",
        "-c",
        f"engine.workers={workers}",
        "-c",
        "engine.checkpoint_seconds=1e9",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "fedmgda", *command, "--out", "cut"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    records = tmp_path / "cut" / "rounds.jsonl"
    deadline = time.monotonic() + 60
    while not (records.exists() and records.read_bytes().count(b"\n") > 5):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == code, messages
    assert "Nothing is lost" in messages
    assert "Traceback" not in messages
    assert not (tmp_path / "cut" / "DONE").exists()
    assert len(list((tmp_path / "cut" / "checkpoints").iterdir())) == 1
    carry_on(tmp_path / "cut")
    RunFolder.create(tmp_path / "whole", RunFolder.open(tmp_path / "cut").spec())
    carry_on(tmp_path / "whole")
    assert results(tmp_path / "cut") == results(tmp_path / "whole")


def test_a_second_process_is_refused_with_the_pid_of_the_first(spec, tmp_path):
    spec.write_text(SPEC.replace("rounds = 4", "rounds = 100000"))
    first = subprocess.Popen(
        [sys.executable, "-m", "fedmgda", "run", "spec.toml", "--out", "shared"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "shared" / "rounds.jsonl").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        second = fedmgda("resume", "shared", cwd=tmp_path, check=5)
        assert f"Process {first.pid} is working in shared" in second.stderr
    finally:
        first.terminate()
        assert first.wait(60) == 143


def test_too_many_failed_rounds_have_their_own_exit_code(spec, tmp_path):
    # A step this long makes every loss infinite or NaN: no reply is usable.
    command = [
        "run",
        "spec.toml",
        "-c",
        "rounds=50",
        "-c",
        "rule.name=fedavg",
        "-c",
        "clients.client_lr=1e30",
    ]
    result = fedmgda(*command, cwd=tmp_path, check=6)
    assert "No usable update in 5 rounds in a row" in result.stderr
    assert "learning rate that is too large: try -c clients.client_lr=1e+29" in result.stderr
    rows = open_run(tmp_path / "runs/spec").rounds
    assert rows[-1].failed == "no client returned a usable update"
    assert rows[-1].quarantined


def test_importing_the_package_is_quick_and_light(tmp_path):
    code = (
        "import sys, time; t = time.perf_counter(); import fedmgda; s = time.perf_counter() - t;"
        "heavy = {'torch', 'matplotlib', 'sklearn', 'scipy', 'rich'} & set(sys.modules);"
        "print(s, sorted(heavy));"
        "import fedmgda.minnorm, fedmgda.rules, fedmgda.federation, fedmgda.metrics;"
        "print(sorted({'torch', 'matplotlib', 'sklearn', 'scipy', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    (first, second) = result.stdout.splitlines()
    assert first.endswith("[]")
    assert second == "[]"
    # Not a benchmark: the import alone is a few milliseconds, NumPy included a tenth of a second.
    assert float(first.split()[0]) < 0.3


@pytest.mark.parametrize("arguments", [("--version",), ("run", "spec.toml", "--dry-run")])
def test_a_full_disk_behind_standard_output_is_one_sentence(spec, arguments):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run(
            [sys.executable, "-m", "fedmgda", *arguments],
            cwd=spec.parent, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert result.returncode == 4
    assert result.stderr == "Error: What is printed cannot be written: No space left on device.\n"


def test_a_terminal_without_the_script_of_a_name_is_no_fault(tmp_path):
    rows = [f"{'甲乙'[i % 2]},{i % 7},{['да', 'нет'][i % 2]}" for i in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["客户,x,label", *rows]), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "fedmgda", "init", "t.csv", "--client", "客户"],
        cwd=tmp_path, capture_output=True, check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, b"")
    assert rb"\u5ba2" in result.stdout
