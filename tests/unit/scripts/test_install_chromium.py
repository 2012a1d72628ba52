"""`make test` installs a browser where it may, says in one line if it could not, and goes on."""

import runpy
import subprocess
from pathlib import Path

import pytest

import chromium

ROOT = Path(__file__).parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.setattr(chromium, "find_chromium", lambda: None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    return runpy.run_path(str(ROOT / "scripts" / "install_chromium.py"))


def answering(monkeypatch, answer):
    asked = []

    def run(command, **options):
        asked.append(command)
        assert options["timeout"] <= 300
        return answer(command)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def refused(command):
    return subprocess.CompletedProcess(command, 100, "", "Err:1\nE: Unable to locate package\n")


def too_slow(command):
    raise subprocess.TimeoutExpired(command, 1)


def done(command):
    return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.parametrize(
    ("answer", "reason"), [(refused, "Unable to locate package"), (too_slow, "was not done after")]
)
def test_what_cannot_be_had_is_one_line_and_no_failure(script, monkeypatch, capsys, answer, reason):
    answering(monkeypatch, answer)
    script["main"]()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert reason in said[1]


def test_it_is_fetched_before_anything_is_changed(script, monkeypatch, capsys):
    asked = answering(monkeypatch, done)
    script["main"]()
    assert ["--download-only" in words for words in asked] == [False, True, False]
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("case", ["a browser is there", "not root", "no apt-get"])
def test_nothing_is_installed_where_it_need_not_or_may_not_be(
    script, monkeypatch, capsys, tmp_path, case
):
    asked = answering(monkeypatch, done)
    if case == "a browser is there":
        monkeypatch.setitem(script["main"].__globals__, "find_chromium", lambda: "/usr/bin/chrome")
    if case == "not root":
        monkeypatch.setattr("os.geteuid", lambda: 1000)
    if case == "no apt-get":
        monkeypatch.setattr("shutil.which", lambda _: None)
    script["main"]()
    assert asked == []
    assert capsys.readouterr().out == ""


def test_a_browser_fetched_by_playwright_is_found(monkeypatch, tmp_path):
    place = tmp_path / "chromium-1200" / "chrome-linux64"
    place.mkdir(parents=True)
    (place / "chrome").touch()
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(chromium, "_PLACES", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert chromium.find_chromium() == str(place / "chrome")
    assert chromium.left_out() is None


def test_where_there_is_none_the_remedy_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(chromium, "_PLACES", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert chromium.left_out() == (
        "no Chromium or Chrome was found; as root: apt-get install chromium"
    )
