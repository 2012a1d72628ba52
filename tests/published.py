"""Numbers computed from what is under results/, as documents quote them."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from fedmgda.paper import (
    decide,
    load_study,
    open_published,
    paired_difference,
    plan_study,
)
from fedmgda.paper._comparison import cell_name, compare
from fedmgda.paper._cost import _costs
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
    """A difference and its interval; formatted by its digits.

    `i` shows the interval alone, `h` half its width: what is smaller could not have been seen.
    """

    mean: float
    low: float
    high: float

    def __format__(self, spec):
        digits = spec[-1]
        if spec.startswith("h"):
            return f"±{(self.high - self.low) / 2.0:.{digits}f}"
        interval = f"[{self.low:+.{digits}f}, {self.high:+.{digits}f}]"
        return interval if spec.startswith("i") else f"{self.mean:+.{digits}f} {interval}"


class Cost(NamedTuple):
    """What something takes of one core; formatted in hours or minutes."""

    hours: float

    def __format__(self, spec):
        minutes = 60.0 * self.hours
        return f"{self.hours:.1f} h" if self.hours >= 1.0 else f"{minutes:.0f} min"


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
def decisions():
    """Return the primary comparisons that have all their seeds, decided together."""
    folders = [path.parent.name for path in RESULTS.glob("*/*-primary.csv")]
    samples = [found for folder in folders for found in report(folder).primaries.items()]
    return {found.primary.name: found for found in decide(dict(samples))}


def _primary(name):
    found = decisions()[name]
    return Gap(found.mean, found.low, found.high)


def _cost(folder):
    results = report(folder).results
    pace = _costs()["seconds_per_round"][open_published(RESULTS / folder).study.name]
    return Cost(pace * sum(result.run.spec.rounds for result in results) / 3600.0)


def cost(folder):
    """Return how to find what the runs of a study take, by the rounds that were timed."""
    return partial(_cost, folder)


def planned_cost(name, setting):
    """Return how to find what a study would take in a setting."""

    def found():
        rounds = sum(run.spec.rounds for run in plan_study(load_study(name), setting))
        return Cost(_costs()["seconds_per_round"][name] * rounds / 3600.0)

    return found


def level(folder, row, metric):
    """Return how to find a row of a study in one metric."""
    return partial(_level, folder, row, metric)


def of_seed(folder, row, metric, seed):
    """Return how to find a row of a study in one metric, for one seed."""
    return lambda: Level(_lines(folder, metric)[row].values[seed], 0.0)


def gap(folder, first, second, metric):
    """Return how to find the difference of two rows over paired seeds."""
    return partial(_gap, folder, first, second, metric)


def primary(name):
    """Return how to find a primary comparison, decided with all others."""
    return partial(_primary, name)
