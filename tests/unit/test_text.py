import re
from pathlib import Path

import pytest

import fedmgda
from fedmgda._text import did_you_mean, nearest_names

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
