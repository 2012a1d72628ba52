"""`fedmgda init`: from a file that nobody has described to a spec that runs."""

import tomllib

import numpy as np
import pytest

from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run, propose_spec
from tables import write_rows


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Visits to three hospitals and a tiny one, one in twenty with an outcome that is bad."""
    rng = np.random.default_rng(1)
    rows = [
        [i, f"2024-02-{1 + i % 28:02}", "Bern" if i < 4 else ("Aachen", "Chur", "Davos")[i % 3],
         f"{rng.normal():.3f}", "" if i == 9 else i % 7, "ICU", "bad" if i % 20 == 0 else "good"]
        for i in range(300)
    ]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    header = ["visit_id", "day", "hospital", "pressure", "beds", "ward", "outcome"]
    return write_rows(tmp_path / "visits.csv", header, rows)


def call(monkeypatch, *words):
    monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
    return run_app()


def test_from_a_file_to_a_finished_run_in_two_commands(visits, monkeypatch, capsys):
    assert call(monkeypatch, "init", "visits.csv") == 0
    shown = capsys.readouterr().out
    for words in ("'hospital' is named like one", "'outcome' is named like one", "visit_id (id)",
                  "day (date)", "ward (constant)", "fewer than 10 rows: 1", "'bad' has 15 of",
                  "class_weights", "fedmgda run visits.toml --compare"):  # fmt: skip
        assert words in " ".join(shown.split())
    assert len(shown.splitlines()) <= 24
    assert max(map(len, shown.splitlines())) <= 80
    assert call(monkeypatch, "run", "visits.toml", "-c", "rounds=2") == 0
    assert open_run(visits.parent / "runs" / "visits").finished


def test_the_spec_says_what_was_found_and_changes_no_default(visits):
    proposal = propose_spec("visits.csv")
    table = tomllib.loads(proposal.spec)
    assert table == {
        "data": {"path": "visits.csv", "client": "hospital", "target": "outcome"},
        "clients": {},
        "rule": {"name": "fedmgda+"},
        "server": {},
    }
    assert "# protect = true" in proposal.spec
    assert '# class_weights = "balanced"' in proposal.spec
    assert not proposal.unsure


def test_nothing_is_written_over_unless_asked(visits, monkeypatch, capsys):
    place = visits.parent / "visits.toml"
    place.write_text("mine", encoding="utf-8")
    assert call(monkeypatch, "init", "visits.csv") == 4
    assert "visits.toml exists; choose another --out" in " ".join(capsys.readouterr().err.split())
    assert place.read_text() == "mine"
    assert call(monkeypatch, "init", "visits.csv", "--force") == 0
    assert "hospital" in place.read_text()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nothing.csv",), 3, "There is no table nothing.csv; check the name."),
        (("visits.csv", "--target", "outcom"), 3, "did you mean 'outcome'?"),
        (("visits.csv", "--client", "hospitl"), 3, "did you mean 'hospital'?"),
        (("visits.csv", "--target", "visit_id", "--client", "visit_id"), 2, "different columns"),
        (("visits.csv", "-o", "no/such/folder/spec.toml"), 4, "Choose another place with --out"),
    ],
)
def test_bad_input_is_one_sentence_and_a_code(visits, monkeypatch, capsys, words, code, message):
    assert call(monkeypatch, "init", *words) == code
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (visits.parent / "visits.toml").exists()


def test_what_is_not_sure_is_said(visits, monkeypatch, capsys):
    rows = [[i % 3, (i * 7919) % 101, (i * 31) % 17] for i in range(90)]
    write_rows(visits.parent / "plain.csv", ["a", "b", "c"], rows)
    assert call(monkeypatch, "init", "plain.csv") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "no column looks like one, so 10 clients are made up" in shown
    assert "'c' is the last column that could be one" in shown
    assert "NOT SURE: it could be 'b', 'a'" in shown
    assert "say --client NAME, --target NAME" in shown


def test_a_folder_and_arrays_have_their_clients(visits, tmp_path):
    folder = tmp_path / "sites"
    folder.mkdir()
    for name in ("one", "two"):
        rows = [[i, i % 2] for i in range(20)]
        write_rows(folder / f"{name}.csv", ["x", "label"], rows)
    proposal = propose_spec(folder)
    assert "every file is a client: 2 groups" in dict(proposal.facts)["client"]
    assert "client" not in tomllib.loads(proposal.spec)["data"]
    arrays = {"features": np.ones((40, 2), np.float32), "targets": np.arange(40) % 2}
    np.savez(tmp_path / "arrays.npz", client=np.arange(40) % 4, **arrays)
    proposal = propose_spec(tmp_path / "arrays.npz")
    assert dict(proposal.facts)["client"] == "4 clients"
    assert set(tomllib.loads(proposal.spec)["data"]) == {"path"}


def test_no_name_of_a_column_can_break_the_spec(tmp_path):
    rows = [["ab"[i % 2], i % 3, (i * 37) % 11, i] for i in range(60)]
    odd = 'x"\n]y = 1\x01'
    path = write_rows(tmp_path / "odd.csv", ["group", "label", "x", odd], rows)
    assert tomllib.loads(propose_spec(path).spec)["data"]["target"] == "label"
    assert tomllib.loads(propose_spec(path, target=odd).spec)["data"]["target"] == odd


def test_a_file_without_a_target_is_refused(tmp_path, monkeypatch, capsys):
    path = write_rows(tmp_path / "ids.csv", ["id", "group"], [[i, "ab"[i % 2]] for i in range(60)])
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "init", path) == 3
    assert "No column of ids.csv can be a target" in " ".join(capsys.readouterr().err.split())


def test_a_guess_that_is_unsure_says_so_though_nothing_else_could_be_it(tmp_path):
    rows = [["ab"[i % 2], f"{i * 0.37:.2f}", f"{i * 0.73 % 4:.2f}"] for i in range(60)]
    proposal = propose_spec(write_rows(tmp_path / "t.csv", ["sex", "x", "z"], rows))
    about = dict(proposal.facts)
    assert about["client"].endswith("2 groups. NOT SURE: it could be no column")
    assert "NOT SURE" in about["target"]
    assert proposal.unsure


def test_a_target_that_misses_in_a_few_rows_is_guessed_and_runs(visits, monkeypatch, capsys):
    rows = [[f"{i * 0.37 % 5:.2f}", "abc"[i % 3], "" if i % 9 == 4 else i % 2] for i in range(90)]
    write_rows(visits.parent / "few.csv", ["x", "shop", "late"], rows)
    assert call(monkeypatch, "init", "few.csv") == 0
    assert "'late' (10 missing) is the last column" in " ".join(capsys.readouterr().out.split())
    assert call(monkeypatch, "run", "few.toml", "-c", "rounds=1") == 0
    shown = " ".join(capsys.readouterr().err.split())
    words = "10 of 90 rows have no target in column 'late' and are left out, the first of them row"
    assert f"{words} 6 of few.csv." in shown
    run = open_run(visits.parent / "runs" / "few")
    assert max(run.predictions().rows) < 80


def test_whole_numbers_that_may_be_amounts_are_unsure(tmp_path):
    rows = [[f"{i * 0.37:.2f}", "abc"[i % 3], 1 + (i * i) % 10] for i in range(90)]
    path = write_rows(tmp_path / "t.csv", ["x", "shop", "score"], rows)
    proposal = propose_spec(path)
    assert (
        'NOT SURE: if these numbers are amounts, set data.task = "regr'
        in dict(proposal.facts)["target"]
    )
    assert proposal.unsure
    assert '\n# task = "regression"' in proposal.spec
    told = proposal.spec.replace("# task", "task")
    assert tomllib.loads(told)["data"]["task"] == "regression"
    rows = [[*row[:2], row[2] % 2] for row in rows]
    proposal = propose_spec(write_rows(tmp_path / "t.csv", ["x", "shop", "score"], rows))
    assert "task" not in proposal.spec
    assert not proposal.unsure


def test_one_client_is_no_federation(visits, monkeypatch, capsys):
    rows = [[i % 7, "only", i % 2] for i in range(40)]
    write_rows(visits.parent / "one.csv", ["x", "shop", "label"], rows)
    assert call(monkeypatch, "init", "one.csv", "--client", "shop") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 group; one client is no federation" in shown
    assert call(monkeypatch, "run", "one.toml", "-c", "rounds=1") == 0
    shown = " ".join(capsys.readouterr().err.split())
    assert "There is one client only, 'only', which is no federation" in shown
