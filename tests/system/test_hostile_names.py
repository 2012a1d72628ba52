"""Names that a terminal, or the library that draws on it, would take for something else."""

import re

import pytest

from fedmgda.cli._app import run_app
from fedmgda.experiments import compare_runs
from tables import write_rows


@pytest.fixture
def fedmgda(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command in a folder of its own: its code, and what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words):
        monkeypatch.setattr("sys.argv", ["fedmgda", *map(str, words)])
        code = run_app()
        said = capsys.readouterr()
        return code, said.out + said.err

    return call


def write(path, header, clients, classes=("no", "yes"), rows=160):
    """Write a table whose classes can be told from one of its columns."""
    lines = [
        [clients[i % len(clients)], (i * 37) % 101 / 50 - 1, i % 7, classes[(i * 37) % 101 > 50]]
        for i in range(rows)
    ]
    return write_rows(path, header, lines)


@pytest.mark.parametrize("target", ["[/label]", "[/]", "[bold]label", "label:smile:", "\\[x]"])
def test_markup_in_the_names_of_columns_clients_and_classes_is_text(fedmgda, tmp_path, target):
    clients, classes = ("[/]", "[red]b", ":smile:", "d\\"), ("[no", "[/yes]")
    path = write(tmp_path / "t.csv", ["[bold]c[/]", "x", "[/y]", target], clients, classes)
    code, said = fedmgda("init", path, "--client", "[bold]c[/]", "--target", target)
    assert code == 0
    code, said = fedmgda("run", "t.toml", "-c", "rounds=2")
    assert code == 0, said
    assert f"client [bold]c[/], target {target}" in said
    for client in clients:
        assert f"\n{client}" in said
    assert fedmgda("run", "t.toml", "-c", "rounds=2", "--compare", "--out", "all")[0] == 0
    assert fedmgda("predict", "runs/t", path, "-o", "scored.csv")[0] == 0


def test_no_name_of_a_column_reaches_the_terminal_as_an_escape(fedmgda, tmp_path):
    red = "\x1b[31m"
    names = [f"client{red}", f"id{red}", "x", f"label{red}"]
    lines = [[f"c{i % 4}", f"row-{i}", (i * 37) % 11, "ab"[i % 2]] for i in range(80)]
    path = write_rows(tmp_path / "t.csv", names, lines)
    given = ("--client", names[0], "--target", names[3])
    for words in (("init", path, *given), ("run", "t.toml", "-c", "rounds=1")):
        code, said = fedmgda(*words)
        assert code == 0
        assert "\x1b" not in said


def test_clients_whose_names_look_alike_keep_their_own_numbers(fedmgda, tmp_path):
    # The first learns by itself what x tells; the second, which looks the same, has labels that
    # say the contrary, and together nobody learns.
    lines = [
        [("k\x01", "k\x02")[i % 2], (i * 37) % 101, "ab"[((i * 37) % 101 > 50) != bool(i % 2)]]
        for i in range(400)
    ]
    path = write_rows(tmp_path / "t.csv", ["client", "x", "label"], lines)
    fedmgda("init", path)
    spec = ("run", "t.toml", "-c", "rounds=3")
    assert (
        fedmgda(*spec, "-c", "rule.name=fedavg", "-c", "evaluation.select=last", "--out", "a")[0]
        == 0
    )
    assert fedmgda(*spec, "-c", "baseline=alone", "--out", "alone")[0] == 0
    found = compare_runs([tmp_path / "a", tmp_path / "alone"])
    code, said = fedmgda("compare", "a", "alone")
    expected = {
        (f"{100 * mine:.1f}", f"{100 * theirs:.1f}")
        for mine, theirs in zip(found.runs[0].clients, found.runs[1].clients, strict=True)
    }
    assert found.clients == ("k?", "k? 2")
    lines = [line.removeprefix("k? 2") for line in said.splitlines() if line.startswith("k?")]
    numbers = [line.removeprefix("k?").split() for line in lines]
    assert (code, len(lines), len(expected)) == (0, 2, 2), said
    assert {(line[1], line[3]) for line in numbers} == expected


def test_classes_that_look_alike_are_counted_apart(fedmgda, tmp_path):
    """Both were called "y?", and `predict` added them up."""
    path = write(tmp_path / "t.csv", ["client", "x", "z", "label"], "abcd", ("y\x01", "y\x02"))
    assert fedmgda("init", path, "--client", "client", "--target", "label")[0] == 0
    assert fedmgda("run", "t.toml", "-c", "rounds=3")[0] == 0
    code, said = fedmgda("predict", "runs/t", path, "-o", "scored.csv")
    assert code == 0
    counts = re.findall(r"(y\?(?: 2)?) in (\d+)", said)
    assert [name for name, _ in sorted(counts)] == ["y?", "y? 2"]
    assert sum(int(count) for _, count in counts) == 160


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\u200f", "\ufeff"])
def test_no_client_turns_the_direction_of_writing_nor_hides_a_letter(fedmgda, tmp_path, hidden):
    clients = (f"a{hidden}b", "ab", "c", "d")
    path = write(tmp_path / "t.csv", ["client", "x", "z", "label"], clients)
    assert fedmgda("init", path, "--client", "client", "--target", "label")[0] == 0
    for words in (("run", "t.toml", "-c", "rounds=1"), ("compare", "runs/t")):
        code, said = fedmgda(*words)
        assert (code, hidden in said) == (0, False)
        if words[0] == "run":
            assert f"\na\\u{ord(hidden):04x}b " in said
    kept = (tmp_path / "runs" / "t" / "clients.csv").read_text(encoding="utf-8")
    assert clients[0] in kept, "a file has the name as it is"
