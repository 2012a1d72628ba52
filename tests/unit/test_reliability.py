"""The page on reliability names what is there: every fault, tests that exist, all that torture."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "reliability.md").read_text(encoding="utf-8")
FAULTS = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
NAMED = sorted(set(re.findall(r"`((?:unit|system)/[\w/]+\.py[\w:]*)`", PAGE)))


def test_every_fault_has_its_row_and_a_test():
    assert [int(number) for number, *_ in ROWS] == [*range(1, 38)]
    assert all("::" in tests or ".py`" in tests for _, _, tests, _ in ROWS)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_is_there(name):
    path, *names = name.split("::")
    code = (TESTS / path).read_text(encoding="utf-8")
    assert [x for x in names if not re.search(rf"^ *(def|class) {x}\b", code, re.MULTILINE)] == []


def test_whatever_tortures_is_on_the_page():
    torturing = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__) and "mark.torture" in path.read_text(encoding="utf-8")
    }
    assert sorted(torturing - set(NAMED)) == []


def test_the_page_on_faults_names_files_that_are_there():
    found = set(re.findall(r"`((?:\w+/)*test_\w+\.py)`", FAULTS))
    assert len(found) > 40
    there = [path.as_posix() for path in TESTS.rglob("test_*.py")]
    assert [name for name in sorted(found) if not any(x.endswith(f"/{name}") for x in there)] == []
