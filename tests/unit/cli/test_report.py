import pytest

from fedmgda._files import take_lock
from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run
from runs import carry_on, copy_of, finished_run, stopped_run


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


def test_a_run_that_goes_on_is_followed_to_its_end(fedmgda, tmp_path, monkeypatch):
    stopped = stopped_run(tmp_path / "live").path
    lock = take_lock(stopped / "lock")
    pages = []

    def train_on(seconds):
        pages.append((tmp_path / "report.html").read_text(encoding="utf-8"))
        if len(pages) == 2:
            lock.close()
            carry_on(stopped)

    monkeypatch.setattr("fedmgda.cli._report.time.sleep", train_on)
    code, said = fedmgda("report", stopped, "--follow")
    assert (code, len(pages)) == (0, 2)
    assert all("live: going on, round 3 of 6." in page for page in pages)
    assert all('"refresh":5' in page for page in pages)
    last = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"refresh":null' in last
    assert "going on" not in last.split("<script", 1)[0]
    assert "report.html: live: going on, round 3 of 6." in said


def test_ctrl_c_leaves_a_page_that_rests(fedmgda, tmp_path, monkeypatch):
    stopped = stopped_run(tmp_path / "live").path

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("fedmgda.cli._report.time.sleep", interrupt)
    with take_lock(stopped / "lock"):
        assert fedmgda("report", stopped, "--follow")[0] == 0
    assert '"refresh":null' in (tmp_path / "report.html").read_text(encoding="utf-8")
