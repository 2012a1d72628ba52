"""What a name means, in the terminal; and the first help, on one screen."""

import json
import sys

import pytest

from fedmgda.attacks import ATTACKS
from fedmgda.cli import _app, _explain
from fedmgda.cli._exit_codes import EXIT_CODES
from fedmgda.cli._words import SYMBOLS, WORDS as GROUPS
from fedmgda.data import DATASETS
from fedmgda.experiments import spec_keys, spec_tables
from fedmgda.metrics import METRICS
from fedmgda.models import MODELS
from fedmgda.rules import PRESETS


@pytest.fixture
def fedmgda(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["fedmgda", *arguments])
        code = _app.run_app()
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


WORDS = [word for words in GROUPS.values() for word in words]
NAMES = [
    *(table.name for table in spec_tables() if table.name),
    *spec_keys(),
    *PRESETS,
    *ATTACKS,
    *MODELS,
    *DATASETS,
    *METRICS,
    *map(str, EXIT_CODES),
    *(word.name for word in WORDS),
]


def test_every_name_there_is_can_be_explained():
    entries = list(_explain._entries())
    for name in dict.fromkeys(NAMES):
        found = _explain._find(name, entries)
        assert {entry.name for entry in found} == {name}
        assert all(entry.meaning for entry in found)
    assert {entry.name for entry in entries} == set(NAMES)


def test_a_key_is_told_with_what_it_may_be_its_default_and_its_page(fedmgda):
    _, out, _ = fedmgda("explain", "rule.epsilon")
    for part in ("common descent", "must lie in [0, 1]", "default: 1.0", "more: docs/"):
        assert part in out


def test_the_last_part_of_a_key_stands_for_every_key_that_ends_with_it(fedmgda):
    _, out, _ = fedmgda("explain", "patience")
    assert "evaluation.patience" in out
    assert "server.protect.patience" in out


@pytest.mark.parametrize(
    ("word", "near"), [("rule.epsilom", "'rule.epsilon'"), ("epsilom", "'rule.epsilon'")]
)
def test_an_unknown_name_is_one_sentence_with_the_nearest_and_code_2(fedmgda, word, near):
    code, out, err = fedmgda("explain", word)
    assert (code, out) == (2, "")
    assert f"Nothing is called {word!r}; did you mean " in err
    assert near in err
    assert err.count("\n") == 1


def test_a_name_unlike_any_other_is_sent_to_the_list(fedmgda):
    code, _, err = fedmgda("explain", "zzzzzzzz")
    assert code == 2
    assert "fedmgda explain lists" in err


def test_without_a_name_the_kinds_of_names_are_listed(fedmgda):
    code, out, _ = fedmgda("explain")
    assert code == 0
    assert all(rule in out for rule in PRESETS)


def test_the_first_help_is_grouped_and_fits_a_screen(fedmgda):
    code, out, _ = fedmgda("--help")
    lines = out.rstrip("\n").splitlines()
    assert code == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "..." not in out.partition("\n")[2], "a description is cut"
    for group in ("Your own data", "Run", "Look and check", "The paper", "Data and federations"):
        assert group in lines
    named = {line.split()[0] for line in lines if line.startswith("  ")}
    assert named == {
        *(command.name or command.callback.__name__ for command in _app.app.registered_commands),
        *(group.name for group in _app.app.registered_groups),
    }


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("FedMGDA+", "fedmgda+"),
        ("Rule.Epsilon", "rule.epsilon"),
        ("ε", "rule.epsilon"),
        ("exit code 6", "6"),
        ("median-norm", "server.schedule"),
        ("lambda", "λ"),
        ("nobody was sacrificed", "sacrificed"),
        ("report", "report"),
    ],
)
def test_a_name_is_found_however_a_reader_met_it(fedmgda, word, name):
    _, out, _ = fedmgda("explain", word, "--json")
    assert [entry["name"] for entry in json.loads(out)] == [name]


def test_a_word_that_is_also_a_key_is_told_as_both(fedmgda):
    _, out, _ = fedmgda("explain", "improved", "--json")
    assert {entry["name"] for entry in json.loads(out)} == {"evaluation.improved", "improved %"}


def test_every_symbol_is_the_letter_of_a_key():
    assert set(SYMBOLS.values()) <= set(spec_keys())


def test_what_else_a_word_is_called_is_no_name_of_another():
    called = [name for word in WORDS for name in (word.name, *word.also)]
    assert len(set(called)) == len(called)
    assert all(name == name.casefold() for word in WORDS for name in word.also), "as it is asked"
    assert not set(called) & ({*PRESETS, *ATTACKS, *MODELS, *METRICS})


@pytest.mark.parametrize("word", ["sacrificed", "stalled", "blocked", "held", "overridden"])
def test_words_of_the_records_and_sentences_are_explained(fedmgda, word):
    code, out, _ = fedmgda("explain", word)
    assert code == 0
    assert "(a word)" in out
