"""Studies of the paper on the terminal: the list, and the report of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from fedmgda.cli._console import err, out, say
from fedmgda.paper import (
    METRICS,
    STARS,
    STUDIES,
    answers_lines,
    calibrate,
    elsewhere,
    line_cells,
    load_study,
    measured_on,
    preamble,
    reasons_of,
    standing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.paper import Report, Setting, Standing, Study
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
                say(err, f"[yellow]Note:[/] {escape(f'{name}: {problem}')}")
        state = standing(study, setting)
        amount = f"{state.runs} x {state.rounds // state.runs}"
        shown = (amount, _cost(state), f"{state.finished}/{state.runs}")
        table.add_row(name, escape(study.title), *shown)
    out.print(table)
    say(
        out,
        f"compat = {setting.compat}. Cost: hours of one core for all runs, from rounds that were "
        f"timed on this machine (--measure times three of each), or, with ~, on one with an "
        f"{escape(measured_on())}.",
        wrap=True,
    )
    for folder, (finished, begun) in elsewhere(setting).items():
        text = f"Also there: {folder}, {finished} of {begun} runs finished."
        say(out, escape(text))


def print_report(study: Study, setting: Setting, report: Report) -> None:
    """Show our numbers beside the published ones, and the differences over paired seeds."""
    say(out, f"[bold]{escape(study.title)}[/]")
    for text in preamble(study, setting, report.lines):
        say(out, escape(text), wrap=True)
    for metric in dict.fromkeys(line.metric for line in report.lines):
        out.print()
        out.print(_metric_table(study, report, metric))
    if report.answers:
        out.print()
        say(out, f"Differences over paired seeds. {STARS}")
        for text in answers_lines(report.answers):
            say(out, escape(text), wrap=True)
    for reason in reasons_of(report.lines):
        say(out, escape(f"\nNot comparable: {reason}."))
    finished = sum(result.done for result in report.results)
    say(out, f"\n{finished} of {report.planned} runs are finished. Written:")
    for file in report.files:
        say(out, escape(str(file)))


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


def _metric_table(study: Study, report: Report, metric: str) -> Table:
    table = Table(box=None, pad_edge=False)
    lines = [line for line in report.lines if line.metric == metric]
    shown = 5 if any(line.published for line in lines) else 2
    table.add_column(escape(METRICS[metric]))
    for name in ("ours", "published", "diff", "verdict")[: shown - 1]:
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
