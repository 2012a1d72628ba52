"""No command writes over what it reads, nor over the files of a run."""

import pytest

from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run
from runs import finished_run
from tables import write_table


@pytest.fixture
def fedmgda(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
        return run_app(), capsys.readouterr().err

    return call


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    data = write_table(folder / "rows.csv", positives=0.4)
    finished_run(folder / "run", data=data, model={}, clients={})
    return folder


def test_predictions_do_not_replace_the_rows_of_a_client(trained, tmp_path, fedmgda):
    head, *rows = (trained / "rows.csv").read_text().splitlines()
    for name, part in (("a", rows[:20]), ("b", rows[20:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *part]))
    before = (tmp_path / "a.csv").read_bytes()
    for place in ("a.csv", "new.csv", f"../{tmp_path.name}/b.csv"):
        code, said = fedmgda("predict", trained / "run", tmp_path, "-o", tmp_path / place)
        assert code == 2
        assert "lies among the rows themselves; choose another place for --out." in said
    assert (tmp_path / "a.csv").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("predict", "RUN", "ROWS", "-o"), "clients.csv"),
        (("compare", "RUN", "--csv"), "clients.csv"),
        (("compare", "RUN", "--csv"), "DONE"),
        (("init", "ROWS", "--force", "-o"), "spec.toml"),
    ],
)
def test_nothing_is_written_over_a_file_of_a_run(trained, fedmgda, words, name):
    given = {"RUN": trained / "run", "ROWS": trained / "rows.csv"}
    place = trained / "run" / name
    code, said = fedmgda(*(given.get(word, word) for word in words), place)
    assert code == 2
    assert f"belongs to the run in {trained / 'run'}; choose another place" in " ".join(
        said.split()
    )
    open_run(trained / "run").check()


def test_another_file_may_lie_in_the_folder_of_a_run(trained, fedmgda):
    for _ in range(2):
        place = trained / "run" / "scored.csv"
        assert fedmgda("predict", trained / "run", trained / "rows.csv", "-o", place)[0] == 0


def test_a_spec_does_not_replace_the_rows_it_is_about(trained, fedmgda):
    before = (trained / "rows.csv").read_bytes()
    rows = trained / "rows.csv"
    code, said = fedmgda("init", rows, "--force", "-o", rows)
    assert code == 2
    assert "The file to write must end in .toml" in said
    assert rows.read_bytes() == before


def test_a_comparison_replaces_a_comparison_and_nothing_else(trained, tmp_path, fedmgda):
    """`--csv` wrote over whatever was there."""
    for name, content in (("notes.csv", "mine\n1\n"), ("empty", "")):
        place = tmp_path / name
        place.write_text(content)
        code, said = fedmgda("compare", trained / "run", "--csv", place)
        assert code == 4
        assert "exists and is no comparison; choose another --csv" in " ".join(said.split())
        assert place.read_text() == content
        assert fedmgda("compare", trained / "run", "--csv", place, "--force")[0] == 0
        first = place.read_bytes()
        assert first.startswith(b'"client","test_rows",')
        assert fedmgda("compare", trained / "run", "--csv", place)[0] == 0
        assert place.read_bytes() == first
    code, said = fedmgda("compare", trained / "run", "--csv", tmp_path, "--force")
    assert code == 4
