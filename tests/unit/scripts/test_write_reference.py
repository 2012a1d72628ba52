"""The reference pages are what the code says: written by a script, and committed."""

import importlib.util
from pathlib import Path

import pytest

from fedmgda import _errors
from fedmgda.cli._exit_codes import EXIT_CODES
from fedmgda.experiments import Interrupted

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "write_reference.py"
    spec = importlib.util.spec_from_file_location("write_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NAMES = ("keys.md", "exit-codes.md", "words.md", "commands.md", "api.md")


@pytest.mark.parametrize("page", NAMES)
def test_the_page_is_what_the_code_says(script, page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert text == script.PAGES[page](), "run: python scripts/write_reference.py"


def test_every_page_is_one_of_those(script):
    assert tuple(script.PAGES) == NAMES


def test_every_error_has_its_code_and_every_code_its_meaning():
    errors = [vars(_errors)[name] for name in _errors.__all__]
    assert {code.error for code in EXIT_CODES.values()} - {None} == set(errors)
    for code, about in EXIT_CODES.items():
        assert about.code == code
        assert about.error is None or about.error.exit_code == code
        assert about.meaning
        assert about.example
        assert about.remedy or code == 0
    assert {Interrupted(2).exit_code, Interrupted(15).exit_code} <= set(EXIT_CODES)
