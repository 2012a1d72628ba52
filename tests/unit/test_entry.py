from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedmgda._entry import is_entry, load_entry
from fedmgda._errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = """
from torch import nn

SIZE = 3

def build():
    return nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.Linear(4, 3))

def broken():
    return None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with a module of the user's own; forgotten afterwards."""
    (tmp_path / "own_entry_module.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if "own_entry" in name:
            del sys.modules[name]


def refusal(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        load_entry(text, "model.name")
    sentence = str(caught.value)
    assert sentence.startswith("model.name")
    assert sentence[-1] in ".?"
    assert "\n" not in sentence
    return sentence


def test_a_function_of_a_module_in_the_current_folder_is_found(folder: Path) -> None:
    assert len(load_entry("own_entry_module:build")()) == 3


def test_a_module_of_a_package_is_found(folder: Path) -> None:
    (folder / "own_entry_package").mkdir()
    (folder / "own_entry_package" / "part.py").write_text("def four():\n    return 4\n")
    assert load_entry("own_entry_package.part:four")() == 4


def test_a_file_in_the_current_folder_never_stands_in_for_an_installed_module(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "colorsys.py").write_text("def rgb_to_hls(*_):\n    return 'forged'\n")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert load_entry("colorsys:rgb_to_hls")(0, 0, 0) == (0.0, 0.0, 0.0)
    assert sys.path[-1] == str(folder)


def test_the_current_folder_is_added_to_the_path_once(folder: Path) -> None:
    for _ in range(3):
        load_entry("own_entry_module:build")
    assert sys.path.count(str(folder)) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_worker_processes_can_import_the_entry(folder: Path, workers: int) -> None:
    from unit.clients._toys import pool  # noqa: PLC0415 - the only test that needs torch

    build = load_entry("own_entry_module:build")
    with pool(build_model=build) as serial, pool(build_model=build, workers=workers) as clients:
        params = clients.initial_params()
        expected = serial.train_cohort(params, (0, 1, 2), 1)
        cohort = clients.train_cohort(params, (0, 1, 2), 1)
    assert cohort.failures == ()
    np.testing.assert_array_equal(cohort.updates, expected.updates)


@pytest.mark.parametrize(
    "text",
    ["", ":", "module", "module:", ":function", "a:b:c", "a..b:c", "folder/file.py:f", "a:b()",
     "a:b.c", "../x:f", "a b:c", "1a:b", ".a:b", "a:__import__('os')"],
)  # fmt: skip
def test_another_form_is_refused(text: str) -> None:
    assert refusal(text) == (
        f"model.name must have the form 'package.module:function', got {text!r}."
    )


def test_a_module_that_does_not_exist_is_named_with_the_folder(folder: Path) -> None:
    sentence = refusal("own_entry_modul:build")
    assert "there is no module 'own_entry_modul'" in sentence
    assert str(folder) in sentence


def test_a_missing_part_of_a_package_is_named(folder: Path) -> None:
    assert "there is no module 'json.nothing'" in refusal("json.nothing:dumps")


def test_what_the_module_itself_misses_is_named(folder: Path) -> None:
    (folder / "own_entry_needy.py").write_text("import no_such_package_at_all\n")
    sentence = refusal("own_entry_needy:build")
    assert "importing own_entry_needy failed: No module named 'no_such_package_at_all'" in sentence


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def build(:\n", "raised SyntaxError: "),
        ("raise KeyError('two\\nlines')\n", "raised KeyError: "),
        ("raise SystemExit(2)\n", "raised SystemExit: 2"),
    ],
)
def test_a_module_that_fails_is_named_with_its_error(
    folder: Path, source: str, reason: str
) -> None:
    (folder / "own_entry_faulty.py").write_text(source)
    assert f"importing own_entry_faulty {reason}" in refusal("own_entry_faulty:build")


def test_a_missing_function_comes_with_the_nearest_name_and_the_file(folder: Path) -> None:
    sentence = refusal("own_entry_module:biuld")
    assert f"({folder / 'own_entry_module.py'}) has no 'biuld'" in sentence
    assert sentence.endswith("did you mean 'build'?")


def test_where_no_name_is_near_the_functions_are_listed(folder: Path) -> None:
    assert refusal("own_entry_module:xyz").endswith("its functions are build, broken.")


def test_what_cannot_be_called_is_refused(folder: Path) -> None:
    sentence = refusal("own_entry_module:SIZE")
    assert sentence.endswith("has 'SIZE', but that is of type int, not a function.")


@pytest.mark.parametrize(("text", "expected"), [("a.b:c", True), ("fedmgda+", False), ("", False)])
def test_an_entry_is_recognised_by_its_colon(text: str, expected: bool) -> None:
    assert is_entry(text) is expected
