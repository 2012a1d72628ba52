"""From a table to who is worse off, on the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tables import write_table

SPEC = """rounds = 6
[data]
path = "rows.csv"
client = "branch"
target = "left"
[evaluation]
every = 3
"""


def fedmgda(*arguments, cwd, check):
    command = [sys.executable, "-m", "fedmgda", *arguments]
    found = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert found.returncode == check, found.stderr
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    write_table(folder / "rows.csv")
    (folder / "visits.toml").write_text(SPEC)
    found = fedmgda("run", "visits.toml", "--compare", cwd=folder, check=0)
    (folder / "stdout").write_text(found.stdout)
    return folder


def test_one_command_tells_who_is_worse_off(place):
    """Finding 5: there was no command for it."""
    names = sorted(path.name for path in (place / "runs" / "visits").iterdir())
    assert names == ["alone", "fedavg", "fedmgda+", "pooled"]
    lines = (place / "stdout").read_text().splitlines()
    assert lines[0].startswith("fedmgda+ by accuracy: 4 clients,")
    assert len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("against alone") for line in lines)
    assert any("worse: beyond the chance of the test rows" in line for line in lines)
    assert "Every client, with intervals: fedmgda compare runs/visits --csv FILE" in lines
    assert "Use it: fedmgda predict runs/visits/fedmgda+ new.csv -o scored.csv" in lines
    assert "worse off than alone" in " ".join(lines[-3:])  # what must be read comes last


def test_positives_that_nobody_finds_are_seen(place):
    """Finding 4: an accuracy of 95 % hid that no positive was found."""
    text = (place / "stdout").read_text()
    assert "Found of " in text
    assert "'yes': fedmgda+ 0" in text
    assert "see also: fedmgda compare runs/visits --metric auc" in text


def test_the_same_command_goes_on_and_says_the_same(place):
    done = place / "runs" / "visits" / "fedavg" / "DONE"
    content = done.read_bytes()
    done.unlink()
    again = fedmgda("run", "visits.toml", "--compare", cwd=place, check=0)
    assert done.read_bytes() == content
    assert again.stdout == (place / "stdout").read_text()
    refused = fedmgda("resume", "runs/visits", cwd=place, check=3)
    assert "the same fedmgda run --compare command goes on with it" in refused.stderr


def test_the_verdict_on_the_run_itself_may_be_the_exit_code(place):
    told = json.loads((place / "runs" / "visits" / "fedmgda+" / "summary.json").read_text())
    assert told["verdict"]["outcome"] == "may have learned"
    found = fedmgda(
        "run", "visits.toml", "--compare", "--strict", "--show-spec", cwd=place, check=9
    )
    assert 'name = "fedmgda+"' in found.stderr
    assert found.stdout == (place / "stdout").read_text()


def test_a_comparison_is_a_table_and_json_too(place):
    found = fedmgda(
        "compare", "runs/visits", "--against", "alone", "--metric", "log_loss", "--json", "--csv",
        "who.csv", cwd=place, check=0,
    )  # fmt: skip
    told = json.loads(found.stdout)
    assert told["metric"] == "log_loss"
    assert told["verdict"]["outcome"]
    assert "worse off than alone" in told["conclusion"]
    assert [other["name"] for other in told["against"]] == ["alone"]
    head, *rows = (place / "who.csv").read_text().splitlines()
    assert head.startswith('"client","test_rows","fedmgda+"')
    assert [row.split(",")[0] for row in rows] == ['"east"', '"north"', '"south"', '"west"']


def test_what_cannot_be_done_is_one_sentence(place):
    found = fedmgda("run", "visits.toml", "--seeds", "2", cwd=place, check=2)
    assert "--seeds goes with --compare" in found.stderr
    found = fedmgda(
        "run", "visits.toml", "--compare", "-o", "runs/visits/alone", cwd=place, check=4
    )
    assert "alone holds one run; put the runs of the comparison elsewhere" in found.stderr
    found = fedmgda("compare", "runs/visits", "--against", "alon", cwd=place, check=2)
    assert "did you mean 'alone'" in found.stderr
    found = fedmgda("compare", "runs/visits/alone", cwd=place, check=0)
    assert "against constant" in found.stdout


@pytest.mark.parametrize("seeds", ["101", "1000000", "0-100"])
def test_seeds_that_nobody_can_mean_are_refused_before_anything_is_read(place, seeds):
    found = fedmgda("run", "visits.toml", "--compare", "--seeds", seeds, cwd=place, check=2)
    assert f"--seeds {seeds} would be " in found.stderr
    assert "ask for at most 100" in found.stderr


def test_a_comparison_that_is_finished_says_so_and_tells_its_notes_again(place):
    """A reader of the second screen did not learn whose rows were left out."""
    few = "".join(f"tiny,{row},1.0,no\n" for row in range(3))
    (place / "more.csv").write_text((place / "rows.csv").read_text() + few)
    words = ("run", "visits.toml", "--compare", "-c", "data.path=more.csv", "-c", "rounds=2")
    first = fedmgda(*words, "-o", "fewer", cwd=place, check=0).stderr
    again = fedmgda(*words, "-o", "fewer", cwd=place, check=0).stderr
    notes = [line for line in first.splitlines() if line.startswith("Note:")]
    assert "tiny" in notes[0]
    assert [line for line in again.splitlines() if line.startswith("Note:")] == notes
    assert "All runs in fewer are finished; this is their comparison." in again
    assert "are finished" not in first


def test_several_seeds_begin_with_the_one_that_is_there(place):
    """The second command trained everything and failed, and the first failed from then on."""
    out = ("-o", "two", "-c", "rounds=2")
    fedmgda("run", "visits.toml", "--compare", *out, cwd=place, check=0)
    first = (place / "two" / "alone" / "DONE").stat().st_mtime_ns
    found = fedmgda("run", "visits.toml", "--compare", "--seeds", "2", *out, cwd=place, check=0)
    assert "mean of 2 seeds" in found.stdout
    assert "Losing against alone in seed 0, 1:" in found.stdout
    assert "4 of 4 clients have fewer than 10 test rows a seed:" in found.stdout
    assert len(found.stdout.splitlines()) <= 24
    assert (place / "two" / "alone_seed=1" / "DONE").exists()
    assert not (place / "two" / "alone_seed=0").exists()
    assert (place / "two" / "alone" / "DONE").stat().st_mtime_ns == first
    again = fedmgda("run", "visits.toml", "--compare", "--json", *out, cwd=place, check=0)
    assert "worse off than alone" in json.loads(again.stdout)["conclusion"]


def test_another_spec_in_the_same_folder_is_sent_elsewhere(place):
    """The advice was to resume one run of four, of the old spec."""
    arguments = ("run", "visits.toml", "--compare", "-c", "rounds=3")
    refused = fedmgda(*arguments, cwd=place, check=4).stderr
    assert "another spec" in refused
    assert "--out runs/visits-2" in refused
    assert "resume" not in refused
