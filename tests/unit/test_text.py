import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import fedmgda
from fedmgda._text import did_you_mean, listed, nearest_names, printable, shown, told_apart

NAMES = ["adult", "cifar10", "mnist", "fashion-mnist"]


def test_a_name_that_exists_is_the_nearest_to_itself():
    for name in NAMES:
        assert nearest_names(name, NAMES)[0] == name


def test_the_nearest_come_first_and_only_so_many():
    assert nearest_names("mnis", NAMES, count=2, cutoff=0.4) == ["mnist", "fashion-mnist"]
    assert nearest_names("mnis", NAMES) == ["mnist"]
    assert nearest_names("xyz", NAMES) == []
    assert len(nearest_names("xyz", NAMES, count=3, cutoff=0.0)) == 3


@pytest.mark.parametrize(
    ("near", "sentence"),
    [
        (["adult"], "did you mean 'adult'?"),
        (["adult", "mnist"], "did you mean 'adult' or 'mnist'?"),
        ([], "see the list."),
    ],
)
def test_a_sentence_ends_with_what_was_meant_or_with_something_else(near, sentence):
    assert did_you_mean(near, "see the list.") == sentence


def test_no_other_module_compares_names():
    sources = Path(fedmgda.__file__).parent.rglob("*.py")
    found = [p.name for p in sources if re.search("difflib|did you mean", p.read_text())]
    assert found == ["_text.py"]


HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = "\u200c\u200d"


@given(st.text(st.characters() | st.sampled_from("\x1b\u202e\u2066\u200b\ufeff\ud800\u2028")))
def test_what_is_printable_hides_nothing_and_what_hides_nothing_stays(text):
    found = printable(text)
    assert all(unicodedata.category(c) not in HIDDEN or c in f"\n\t{JOINERS}" for c in found)
    assert printable(found) == found
    if all(unicodedata.category(c) not in HIDDEN for c in text):
        assert found == text


@pytest.mark.parametrize("text", ["می\u200cخواهم", "👩\u200d🚀", "two\nlines", "naïve"])
def test_scripts_that_need_joiners_are_not_misspelt(text):
    assert printable(text) == text


def test_texts_that_differ_in_what_is_hidden_look_different():
    texts = ["ab", "a\u202eb", "a\u202db", "a\u200bb", "a\x01b"]
    assert len({printable(text) for text in texts}) == len(texts)


@given(st.text())
def test_a_name_that_is_shown_is_one_line_as_long_as_it_was(text):
    assert len(shown(text)) == len(text)
    assert len(f"{shown(text)}.".splitlines()) == 1


@given(st.lists(st.sampled_from(["a", "b", "a 2", "a 2 2"])), st.sets(st.sampled_from("ab")))
def test_names_are_told_apart_from_each_other_and_from_those_taken(names, taken):
    found = told_apart(names, taken)
    assert len(found) == len(names)
    assert len({*found, *taken}) == len(found) + len(taken)
    assert all(one.startswith(name) for one, name in zip(found, names, strict=True))
    if len({*names, *taken}) == len(names) + len(taken):
        assert found == names


def test_every_command_escapes_what_is_not_ours_in_one_way():
    folder = Path(fedmgda.__file__).parent / "cli"
    found = [p.name for p in folder.glob("*.py") if "rich.markup import" in p.read_text()]
    assert set(found) <= {"_console.py", "_reproduce.py"}


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("a", "a"),
        ("ab", "a and b"),
        ("abc", "a, b and c"),
        ("abcd", "a, b, c and 1 more"),
    ],
)
def test_lists_of_names_are_short(names, text):
    assert listed(names, 3, last=" and ") == text
