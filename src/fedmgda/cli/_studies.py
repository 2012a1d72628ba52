"""Studies of the paper on the terminal: the list, and the report of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from fedmgda.cli._console import err, escape, note, out, say
from fedmgda.paper import (
    METRICS,
    SEEN,
    STARS,
    STUDIES,
    answers_lines,
    calibrate,
    elsewhere,
    fixed_answers_lines,
    line_cells,
    load_study,
    measured_on,
    preamble,
    primaries_lines,
    promises_lines,
    reasons_of,
    standing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.paper import Line, Report, Setting, Standing, Study
    from fedmgda.paper.theory import Check

__all__ = ["print_list", "print_report", "print_theory"]


def print_list(setting: Setting, *, measure: bool) -> None:
    """Show every study: what it is, what it costs here, and what has been run."""
    table = Table(box=None, pad_edge=False)
    for name in ("id", "what it is"):
        table.add_column(name, no_wrap=name == "id")
    for name in ("runs x rounds", "cost", "done"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in STUDIES:
        study = load_study(name)
        if study.kind == "theory":
            table.add_row(name, study.title, "-", "seconds", "-")
            continue
        if measure:
            say(err, f"Timing {name} ...")
            if problem := calibrate(study, setting):
                note([f"{name}: {problem}"])
        state = standing(study, setting)
        amount = f"{state.runs} x {state.rounds // state.runs}"
        shown = (amount, _cost(state), f"{state.finished}/{state.runs}")
        table.add_row(name, escape(study.title), *shown)
    out.print(table)
    say(
        out,
        f"compat = {setting.compat}. Cost: hours of one core for all runs, from rounds that were "
        "timed on this machine (--measure times three of each) or, with ~, roughly, on one with an "
        f"{escape(measured_on())}; shakespeare is reckoned there from its smallest client, and ? "
        "means that it was not timed.",
        wrap=True,
    )
    for folder, (finished, begun) in elsewhere(setting).items():
        text = f"Also there: {folder}, {finished} of {begun} runs finished."
        say(out, escape(text))


def print_report(study: Study, setting: Setting, report: Report) -> None:
    """Show our numbers beside the published ones, and the differences over paired seeds."""
    say(out, f"[bold]{escape(study.title)}[/]")
    found = (*primaries_lines(report.primaries), *promises_lines(report.promises))
    for text in (*preamble(study, setting, report.lines), *found):
        say(out, escape(text), wrap=True)
    # What was fixed beforehand first, the last model second.
    for lines in (report.fixed, report.lines):
        for metric in dict.fromkeys(line.metric for line in lines):
            out.print()
            out.print(_metric_table(study, lines, metric))
    _print_differences(SEEN, fixed_answers_lines(report.fixed_answers))
    _print_differences(f"Of the last model: {STARS}", answers_lines(report.answers))
    for reason in reasons_of(report.lines):
        say(out, escape(f"\nNot comparable: {reason}."))
    finished = sum(result.done for result in report.results)
    say(out, f"\n{finished} of {report.planned} runs are finished. Written:")
    for file in report.files:
        say(out, escape(str(file)))


def _print_differences(title: str, texts: Sequence[str]) -> None:
    if texts:
        out.print()
        say(out, f"Differences over paired seeds. {title}", wrap=True)
    for text in texts:
        say(out, escape(text), wrap=True)


def print_theory(checks: Sequence[Check], files: Sequence[Path]) -> None:
    """Show every claim, what was measured, what was promised, and whether it holds."""
    table = Table(box=None, pad_edge=False)
    for name in ("claim", "where"):
        table.add_column(name)
    for name in ("measured", "", "bound", "holds"):
        table.add_column(name, justify="right", no_wrap=True)
    for check in checks:
        numbers = (f"{check.measured:.3g}", check.relation, f"{check.bound:.3g}")
        table.add_row(escape(check.claim), escape(check.where), *numbers, _holds(check))
    out.print(table)
    for file in files:
        say(out, escape(str(file)))


def _holds(check: Check) -> str:
    return "yes" if check.holds else "no (as printed)" if check.as_printed else "NO"


def _metric_table(study: Study, measured: Sequence[Line], metric: str) -> Table:
    table = Table(box=None, pad_edge=False)
    lines = [line for line in measured if line.metric == metric]
    shown = 6 if any(line.published for line in lines) else 2
    table.add_column(escape(METRICS[metric]))
    for name in ("ours", "published", "diff", "verdict", "p")[: shown - 1]:
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    for line in lines:
        table.add_row(*(escape(cell) for cell in line_cells(study, line)[:shown]))
    return table


def _cost(state: Standing) -> str:
    hours = state.hours
    if hours is None:
        return "?"
    about = "" if state.timed_here else "~"
    return f"{about}{hours:.1f} h" if hours < 100 else f"{about}{hours:,.0f} h"
