import json
import os
import sys
import time

import pytest

from fedmgda._errors import StoreError
from fedmgda.flower.deployment._submission import FlowerError, Submission, flwr_json
from fedmgda.flower.wire._end import End, end_file, read_end, write_end


@pytest.fixture
def flwr(tmp_path):
    """Return an environment whose `flwr` does what a piece of Python says."""

    def make(code):
        path = tmp_path / "flwr"
        path.write_text(f"#!{sys.executable}\nimport sys, time\n{code}\n")
        path.chmod(0o755)
        return {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    return make


def follow(environment, tmp_path, **options):
    news = []
    submission = Submission(tmp_path, "there", environment)
    try:
        return submission.follow(news.append, **options), news
    finally:
        submission.close()


LOG = "\\x1b[92mINFO \\x1b[0m:      "
STARTED = "print('Successfully started run 77', flush=True)"


def test_the_exit_code_is_the_servers_whatever_flwr_says(flwr, tmp_path):
    code = f"{STARTED}\nprint('{LOG}fedmgda: round 1 of 2')\nprint('{LOG}fedmgda: exit 6: No.')"
    end, news = follow(flwr(code), tmp_path)
    assert (end, news) == (End(6, "No."), ["round 1 of 2"])
    end, _ = follow(flwr(f"{STARTED}\nprint('fedmgda: exit 0: Fine.')\nsys.exit(3)"), tmp_path)
    assert end == End(0, "Fine.")


def test_an_end_is_taken_at_once_though_flwr_goes_on(flwr, tmp_path):
    code = f"{STARTED}\nprint('fedmgda: exit 0: Fine.', flush=True)\ntime.sleep(600)"
    started = time.monotonic()
    assert follow(flwr(code), tmp_path)[0] == End(0, "Fine.")
    assert time.monotonic() - started < 20


def test_a_run_that_ends_without_a_word_has_not_succeeded(flwr, tmp_path):
    end, _ = follow(flwr(f"{STARTED}\nprint('Traceback: no module')"), tmp_path)
    assert end.code == 1
    assert "run 77 ended without saying why" in end.sentence
    assert "no module" in end.sentence


def test_a_run_that_never_started_says_what_flwr_said(flwr, tmp_path):
    end, _ = follow(flwr("print('Connection refused'); sys.exit(2)"), tmp_path)
    assert end == End(1, "flwr run ended with code 2: Connection refused")


def test_who_looks_elsewhere_is_asked_while_the_log_is_silent(flwr, tmp_path):
    ends = iter([None, None, End(4, "Seen elsewhere.")])
    environment = flwr(f"{STARTED}\ntime.sleep(600)")
    assert follow(environment, tmp_path, look=lambda: next(ends))[0].code == 4


def test_what_flwr_says_in_json_is_read_behind_its_chatter(flwr, tmp_path):
    said = json.dumps({"success": True, "node-id": 5})
    assert flwr_json(flwr(f"print('Loading {{config}}'[:7])\nprint('{said}')"), "x")["node-id"] == 5
    with pytest.raises(FlowerError, match="ended with code 2: no such node"):
        flwr_json(flwr("print('no such node'); sys.exit(2)"), "x")
    with pytest.raises(FlowerError, match="said"):
        flwr_json(flwr("print('{\"success\": false}')"), "x")
    with pytest.raises(FlowerError, match=r"took more than 0\.2 s"):
        flwr_json(flwr("time.sleep(600)"), "x", seconds=0.2)


def test_an_end_beside_the_run_folder_is_read_and_nothing_else(tmp_path):
    out = tmp_path / "run"
    assert end_file(out).parent == tmp_path
    assert read_end(out) is None
    write_end(out, End(6, "No."))
    assert read_end(out) == End(6, "No.")
    end_file(out).write_text("[]")
    with pytest.raises(StoreError, match="does not say how the run ended"):
        read_end(out)


def test_a_run_that_ends_as_it_is_stopped_has_ended_as_it_says(flwr, tmp_path):
    late = "print('Run is already finished.', file=sys.stderr); sys.exit(1)"
    ends = "time.sleep(2); print('fedmgda: exit 0: Fine.', flush=True)"
    code = f"if sys.argv[1] == 'stop':\n    {late}\n{STARTED}\n{ends}"
    submission = Submission(tmp_path, "there", flwr(code))
    try:
        started = iter([None, KeyboardInterrupt()])
        with pytest.raises(KeyboardInterrupt):
            submission.follow(print, lambda: raised(next(started)))
        assert submission.stop() == End(0, "Fine.")
    finally:
        submission.close()


def raised(error):
    if error is not None:
        raise error
