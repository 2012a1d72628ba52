"""At 80 columns no word is broken; in a pipe a sentence is one line."""

import io
import re

import pytest
from rich.console import Console

from fedmgda.cli import _data, _studies
from fedmgda.cli._console import say
from fedmgda.paper import Setting

LONG = "/a/" + "very-long-name-" * 8 + "/run"
TEXT = f"Everything about the run is in {LONG} and stays readable where a terminal ends its lines."


def terminal(width=80, *, interactive=True):
    return Console(file=io.StringIO(), width=width, force_terminal=interactive, no_color=True)


def shown(console):
    return re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_terminal_gets_whole_words(width, wrap):
    console = terminal(width)
    say(console, TEXT, wrap=wrap)
    lines = shown(console).splitlines()
    assert [word for line in lines for word in line.split()] == TEXT.split()
    assert all(len(line.rstrip()) <= width or " " not in line.strip() for line in lines)


def test_a_pipe_gets_one_line_unless_it_is_a_paragraph():
    console = terminal(interactive=False)
    say(console, TEXT)
    assert shown(console) == TEXT + "\n"
    say(console, TEXT, wrap=True)
    assert len(shown(console).splitlines()) > 2


def test_markup_is_still_markup():
    console = terminal(interactive=False)
    say(console, "[bold red]Error:[/] it is not there.")
    assert shown(console) == "Error: it is not there.\n"


def words_of(rows):
    return {word for row in rows for word in row.split()}


def test_the_list_of_data_sets_breaks_no_word(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDMGDA_DATA", str(tmp_path))
    console = terminal(interactive=False)
    console.print(_data._datasets_table())
    assert max(map(len, shown(console).splitlines())) <= 80
    found = words_of(shown(console).splitlines())
    for dataset, origin in _data._fetchable():
        texts = [dataset.name, dataset.title, dataset.licence, *(s.name for s in origin.sources)]
        assert words_of(texts) <= {word.rstrip(",") for word in found} | found


def test_the_list_of_studies_breaks_no_word_and_knows_the_costs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    console = terminal(interactive=False)
    monkeypatch.setattr(_studies, "out", console)
    _studies.print_list(Setting(), measure=False)
    lines = shown(console).splitlines()
    assert max(map(len, lines)) <= 80
    unknown = [line.split()[0] for line in lines if line.split()[-2:-1] == ["?"]]
    assert unknown == ["emnist-1", "emnist-2"], "only what no registry carries has no cost"
    assert {"participants", "Fashion-MNIST,", "fmnist-full-batch"} <= words_of(lines)
