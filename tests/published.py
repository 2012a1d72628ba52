"""Numbers computed from what is under results/, as documents quote them."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from fedmgda.paper import decide, open_published, paired_difference
from fedmgda.paper._comparison import cell_name, compare
from fedmgda.paper._report import make_report

RESULTS = Path(__file__).parents[1] / "results"


class Level(NamedTuple):
    """A mean over seeds and their standard deviation; formatted by its digits, `±` shows both."""

    mean: float
    std: float

    def __format__(self, spec):
        digits = spec[-1]
        text = f"{self.mean:.{digits}f}"
        return f"{text} ± {self.std:.{digits}f}" if spec.startswith("±") else text


class Gap(NamedTuple):
    """A difference and its interval; formatted by its digits, `i` shows the interval alone."""

    mean: float
    low: float
    high: float

    def __format__(self, spec):
        digits = spec[-1]
        interval = f"[{self.low:+.{digits}f}, {self.high:+.{digits}f}]"
        return interval if spec.startswith("i") else f"{self.mean:+.{digits}f} {interval}"


@cache
def report(folder):
    """Return the report of a published study, from its records."""
    found = open_published(RESULTS / folder)
    return make_report(found.study, found.setting, RESULTS / "nothing-was-run", [found])


@cache
def _lines(folder, metric):
    found = open_published(RESULTS / folder)
    lines = compare(found.study, found.setting, report(folder).results, [metric])
    return {cell_name(found.study, line.cell): line for line in lines}


def _level(folder, row, metric):
    line = _lines(folder, metric)[row]
    return Level(line.mean, line.std)


def _gap(folder, first, second, metric):
    lines = _lines(folder, metric)
    found = paired_difference(lines[first].values, lines[second].values)
    return Gap(found.mean, found.low, found.high)


@cache
def _decisions():
    folders = [path.parent.name for path in RESULTS.glob("*/*-primary.csv")]
    samples = [found for folder in folders for found in report(folder).primaries.items()]
    return {found.primary.name: found for found in decide(dict(samples))}


def _primary(name):
    found = _decisions()[name]
    return Gap(found.mean, found.low, found.high)


def level(folder, row, metric):
    """Return how to find a row of a study in one metric."""
    return partial(_level, folder, row, metric)


def gap(folder, first, second, metric):
    """Return how to find the difference of two rows over paired seeds."""
    return partial(_gap, folder, first, second, metric)


def primary(name):
    """Return how to find a primary comparison, decided with all others."""
    return partial(_primary, name)
