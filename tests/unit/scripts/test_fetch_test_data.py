"""`make test` fetches what tests read, says in one line what it could not, and goes on."""

import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDMGDA_DATA", str(tmp_path))
    return runpy.run_path(str(ROOT / "scripts" / "fetch_test_data.py"))


def answering(monkeypatch, answer):
    asked = []

    def run(command, **options):
        asked.append((command[-1], options["timeout"]))
        return answer(command)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def refused(command):
    return subprocess.CompletedProcess(command, 3, "", "trying\nError: nobody answers.\n")


def too_slow(command):
    raise subprocess.TimeoutExpired(command, 1)


@pytest.mark.parametrize(
    ("answer", "reason"), [(refused, "nobody answers."), (too_slow, "nothing complete after")]
)
def test_what_cannot_be_had_is_one_line_and_no_failure(script, monkeypatch, capsys, answer, reason):
    asked = answering(monkeypatch, answer)
    script["main"]()
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert said.startswith("Tests of adult and fashion-mnist will be skipped (")
    assert said.count(reason) == 2
    assert [name for name, _ in asked] == ["adult", "fashion-mnist"]
    assert all(seconds <= 60 for _, seconds in asked), "the wait is bounded"


def test_nothing_is_said_when_everything_came(script, monkeypatch, capsys):
    answering(monkeypatch, lambda command: subprocess.CompletedProcess(command, 0, "", ""))
    script["main"]()
    assert capsys.readouterr().out == ""


def test_it_comes_before_the_tests():
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile[makefile.index("\ntest:") : makefile.index("\ntest-slow:")]
    assert recipe.index("scripts/fetch_test_data.py") < recipe.index("$(PYTEST)")
