import pytest

from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run
from runs import copy_of, finished_run, stopped_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("runs") / "run").path


@pytest.fixture
def fedmgda(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
        code = run_app()
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


def test_a_page_is_written_and_its_verdict_said(fedmgda, run, tmp_path):
    code, said = fedmgda("report", run)
    assert code == 0
    assert open_run(run).verdict.outcome in said or "It " in said
    assert "Page: report.html (" in said
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert fedmgda("report", run)[0] == 0, "a page may be written over"


def test_what_is_no_page_is_not_written_over(fedmgda, run, tmp_path):
    (tmp_path / "mine.html").write_text("mine")
    code, said = fedmgda("report", run, "-o", "mine.html")
    assert (code, (tmp_path / "mine.html").read_text()) == (4, "mine")
    assert "mine.html exists and is no report" in said
    assert fedmgda("report", run, "-o", "mine.html", "--force")[0] == 0


@pytest.mark.parametrize("place", ["spec.toml", "page.txt"])
def test_a_page_ends_in_html(fedmgda, run, place):
    code, said = fedmgda("report", run, "-o", place)
    assert (code, ".html" in said) == (2, True)


def test_a_broken_run_gives_a_page_a_sentence_and_the_code_of_verify(fedmgda, run, tmp_path):
    broken = copy_of(run, tmp_path / "broken")
    (broken / "clients.csv").write_text("edited")
    code, said = fedmgda("report", run, broken)
    assert (code, "clients.csv" in said) == (4, True)
    assert (tmp_path / "report.html").exists()


def test_a_stopped_run_is_shown_as_far_as_it_came(fedmgda, tmp_path):
    stopped = stopped_run(tmp_path / "stopped").path
    code, said = fedmgda("report", stopped, "--follow")
    assert code == 0, "nothing goes on, so there is nothing to follow"
    assert "round 3 of 6" in said


def test_a_folder_without_a_run_and_a_metric_that_there_is_not_are_refused(fedmgda, run, tmp_path):
    assert fedmgda("report", tmp_path)[0] == 3
    code, said = fedmgda("report", run, "--metric", "beauty")
    assert (code, "beauty" in said) == (2, True)
