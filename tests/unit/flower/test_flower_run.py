"""`fedmgda flower run`: what is refused is refused before anything starts."""

import pytest

from fedmgda.cli import _flower
from fedmgda.cli._app import run_app
from fedmgda.experiments import open_run
from fedmgda.flower.wire._end import End, end_file, write_end
from tables import write_rows

DIGITS = """
rounds = 1
[data]
name = "digits"
num_clients = 2
[clients]
client_lr = 0.05
[evaluation]
improved = false
"""
SCHEMA = """
rounds = 1
[data]
target = "ill"
[data.schema]
columns = [{name = "age", kind = "number"}]
classes = ["no", "yes"]
"""


@pytest.fixture
def flower(tmp_path, monkeypatch, capsys):
    """Return what types a command in an empty folder where nothing can start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLWR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(_flower, "_carry_out", lambda *_: pytest.fail("It was started."))

    def command(*words):
        monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
        code = run_app()
        said = capsys.readouterr()
        return code, " ".join((said.err + said.out).split())

    return command


@pytest.fixture
def digits(tmp_path):
    (tmp_path / "digits.toml").write_text(DIGITS)
    return tmp_path / "digits.toml"


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path / "schema.toml"


def test_a_run_is_in_one_place(flower, digits):
    code, said = flower("flower", "run", digits)
    assert (code, "Say where" in said) == (2, True)
    code, said = flower("flower", "run", digits, "--engine", "sim", "--superlink", "a")
    assert (code, "not both" in said) == (2, True)


def test_each_node_has_a_file_where_the_spec_has_a_schema(flower, schema, tmp_path):
    files = [write_rows(tmp_path / f"{n}.csv", ["age", "ill"], [[1, "no"]]) for n in "abc"]
    data = [word for file in files for word in ("--data", file)]
    code, said = flower("flower", "run", schema, "--engine", "local-deployment")
    assert (code, "give a --data FILE for each node" in said) == (2, True)
    code, said = flower("flower", "run", schema, "--engine", "sim")
    assert (code, "sim has no nodes with files of their own" in said) == (2, True)
    local = ["flower", "run", schema, "--engine", "local-deployment"]
    code, said = flower(*local, *data, "--nodes", 2)
    assert (code, "--nodes 2 and 3 files of --data" in said) == (2, True)
    code, said = flower(*local, *data[:4], "--data", "missing.csv")
    assert (code, "missing.csv is not there" in said) == (3, True)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("engine", ["sim", "local-deployment"])
def test_a_folder_with_another_run_is_refused_as_without_flower(flower, digits, engine):
    assert flower("run", digits, "--out", "a")[0] == 0
    words = [digits, "--out", "a", "-c", "seed=5"]
    code, said = flower("flower", "run", *words, "--engine", engine)
    assert (code, "already holds a run of another spec" in said) == (4, True)
    assert flower("run", *words)[0] == 4


def test_a_finished_run_is_shown_and_nothing_is_started(flower, digits, tmp_path):
    assert flower("run", digits, "--out", "a")[0] == 0
    write_end(tmp_path / "a", End(6, "Of an attempt before."))
    code, said = flower("flower", "run", digits, "--out", "a", "--engine", "local-deployment")
    assert (code, "is finished; this is its summary" in said) == (0, True)
    assert open_run(tmp_path / "a").finished
    assert not end_file(tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (End(6, "Too few."), "Error: Too few."),
        (End(130, "Stopped by SIGINT."), "Stopped by SIGINT. Nothing is lost"),
    ],
)
def test_an_end_is_said_in_the_same_way_by_every_engine(flower, digits, monkeypatch, end, said):
    monkeypatch.setattr(_flower, "_carry_out", lambda *_: end)
    code, told = flower("flower", "run", digits, "--engine", "sim")
    assert (code, told.startswith(said)) == (end.code, True)


def test_a_superlink_that_nobody_named_is_refused(flower, digits, tmp_path):
    code, said = flower("flower", "run", digits, "--superlink", "branches")
    assert (code, "names no SuperLink 'branches'; write there" in said) == (2, True)
    assert not (tmp_path / "home").exists()
    (tmp_path / "home").mkdir()
    config = tmp_path / "home" / "config.toml"
    config.write_text('[superlink]\ndefault = "branches"\n[superlink.branches]\naddress = "a:1"\n')
    code, said = flower("flower", "run", digits, "--superlink", "brnches")
    assert (code, "but 'branches'; did you mean 'branches'?" in said) == (2, True)
    code, said = flower("flower", "run", digits, "--superlink", "default")
    assert (code, "names no SuperLink 'default'" in said) == (2, True)
    config.write_text("[")
    code, said = flower("flower", "run", digits, "--superlink", "branches")
    assert (code, "config.toml cannot be read" in said) == (2, True)
