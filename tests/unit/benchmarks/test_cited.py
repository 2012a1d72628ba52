"""The numbers that pages cite are those of the records."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
STUDIES = (
    "interval of the gain",
    "interval of the AUC",
    "rare large errors",
    "seeds",
    "differences",
    "joining",
    "one run, ended earlier",
    "longer alone",
    "no signal",
)


@pytest.fixture
def found() -> dict[Any, Any]:
    read = importlib.import_module("_measured").read_measured
    return read("simulated") | read("trained")


def missing(found: dict[Any, Any]) -> list[str]:
    """Return the phrases that do not stand in the file that should have them."""
    wanted = importlib.import_module("_cited").phrases(found)
    return [
        phrase
        for path, phrases in wanted.items()
        for phrase in phrases
        if phrase not in (ROOT / path).read_text(encoding="utf-8")
    ]


def test_pages_cite_the_numbers_of_the_records(found: dict[Any, Any]) -> None:
    assert missing(found) == []


def test_every_record_is_of_a_study_that_is_cited(found: dict[Any, Any]) -> None:
    assert {study for study, *_ in found} == set(STUDIES)


@pytest.mark.parametrize("study", STUDIES)
def test_another_number_is_noticed(found: dict[Any, Any], study: str) -> None:
    other = {
        key: replace(row, value=2 * row.value + 1) if row.study == study else row
        for key, row in found.items()
    }
    assert missing(other)


def test_a_simulation_gives_its_record_again(found: dict[Any, Any]) -> None:
    for row in importlib.import_module("chance").skewed_differences():
        recorded = found[row.study, row.case, row.measure]
        assert row.value == pytest.approx(recorded.value, rel=1e-4)
        assert row.repeats == recorded.repeats


def test_simulated_intervals_hold_the_truth_about_as_often_as_recorded(
    found: dict[Any, Any],
) -> None:
    for row in importlib.import_module("chance").intervals_of_gains(100):
        recorded = found[row.study, row.case, row.measure]
        assert row.value == pytest.approx(recorded.value, abs=0.15)
