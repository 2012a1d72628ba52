"""The comparison as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from fedmgda.paper._comparison import cell_name
from fedmgda.paper._metrics import METRICS
from fedmgda.paper._setting import seeds_of
from fedmgda.paper._verdict import rule_text, tolerance

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedmgda.paper._comparison import Line
    from fedmgda.paper._questions import Answer
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = [
    "STARS",
    "answers_csv",
    "answers_lines",
    "line_cells",
    "lines_csv",
    "markdown",
    "preamble",
    "reasons_of",
]

STARS = (
    "95 % intervals of Student's t: * where one excludes zero, ** where the difference also stands "
    "among all of this page (Holm, 5 %)."
)
"""What the marks behind an interval mean."""

_LEVEL = 0.05
_HEADER = ("row", "ours", "published", "difference", "verdict")


def lines_csv(study: Study, lines: Sequence[Line]) -> str:
    """Write every line with full precision."""
    head = (
        "row", "metric", "seeds", "mean", "std_over_seeds", "published_mean", "published_pm",
        "difference", "tolerance", "verdict", "reason",
    )  # fmt: skip
    rows = [
        (
            cell_name(study, line.cell), line.metric, len(line.values), line.mean, line.std,
            *((line.published.mean, line.published.pm) if line.published else ("", "")),
            "" if line.difference is None else line.difference,
            round(tolerance(line.metric) + line.published.pm, 4) if line.published else "",
            line.verdict.word, line.verdict.reason,
        )
        for line in lines
    ]  # fmt: skip
    return _csv(head, rows)


def answers_csv(found: Sequence[Answer]) -> str:
    """Write every difference with full precision."""
    head = (
        "first", "second", "within", "metric", "seeds", "mean", "low_95", "high_95", "p", "p_holm",
    )  # fmt: skip
    rows = [
        (
            a.first, a.second, "; ".join(a.within.values()), a.metric,
            a.difference.n, a.difference.mean, a.difference.low, a.difference.high,
            a.difference.p, a.p_adjusted,
        )
        for a in found
    ]  # fmt: skip
    return _csv(head, rows)


def line_cells(study: Study, line: Line) -> tuple[str, str, str, str, str]:
    """Return the texts of one line: row, ours, published, difference, verdict."""
    spread = f" ± {line.std:.2f}" if len(line.values) > 1 else ""
    ours = "diverged" if math.isnan(line.mean) else f"{line.mean:.2f}{spread}"
    published = f"{line.published.mean:.2f} ± {line.published.pm:.2f}" if line.published else "-"
    gap = "-" if line.difference is None else f"{line.difference:+.2f}"
    return cell_name(study, line.cell), ours, published, gap, line.verdict.word


def answers_lines(found: Sequence[Answer]) -> list[str]:
    """Say every difference in one line.

    The interval is 95 %, over paired seeds; a star marks one that excludes zero, two stars one
    that would do so with all others beside it.
    """
    return [
        f"{a.first} minus {a.second}{''.join(f' [{value}]' for value in a.within.values())}: "
        f"{a.metric} {a.difference.mean:+.2f} {_interval(a)}, n = {a.difference.n}{_star(a)}"
        for a in found
    ]


def reasons_of(lines: Iterable[Line]) -> list[str]:
    """Return why published numbers are not comparable, each reason once."""
    lines = [line for line in lines if line.published is not None and line.verdict.reason]
    return list(dict.fromkeys(line.verdict.reason for line in lines))


def preamble(study: Study, setting: Setting, lines: Sequence[Line]) -> list[str]:
    """Say in sentences what was run and how it is judged."""
    seeds = sorted({seed for line in lines for seed in line.values})
    rounds = setting.rounds or study.rounds
    texts = [f"compat = {setting.compat}, {rounds} rounds, seeds {', '.join(map(str, seeds))}."]
    if short := _short_of(study, lines, asked=len(seeds_of(study, setting))):
        texts.append(short)
    if setting.changes:
        texts.append(f"Changed: {', '.join(setting.changes)}.")
    if rounds != study.rounds:
        texts.append(
            f"The study has {study.rounds} rounds: --rounds {rounds} also shortens or stretches "
            "the decay of the server's step, which is spread over all rounds."
        )
    judged = "Where the paper prints no number, nothing is judged."
    texts.append(f"{rule_text(study.metrics)} {judged}" if study.published else judged)
    texts.append("± is the population standard deviation over seeds, as in the paper.")
    return [*texts, *([study.note] if study.note else [])]


def _short_of(study: Study, lines: Sequence[Line], asked: int) -> str:
    """Say which rows rest on fewer seeds: a mean must not hide the runs that did not get there."""
    counts = {cell_name(study, line.cell): len(line.values) for line in lines}
    short = [f"{name} ({count})" for name, count in counts.items() if count < asked]
    if not short:
        return ""
    rows = "all rows" if len(short) == len(counts) else ", ".join(short)
    return (
        f"{asked} seeds were asked for. Fewer have results in {rows}: runs that stalled or are not "
        "finished are in no mean."
    )


def markdown(study: Study, setting: Setting, lines: Sequence[Line], found: Sequence[Answer]) -> str:
    """Write the whole comparison for people."""
    blocks = [f"# {study.title}", "\n\n".join(preamble(study, setting, lines))]
    for metric in dict.fromkeys(line.metric for line in lines):
        chosen = [line for line in lines if line.metric == metric]
        shown = len(_HEADER) if any(line.published for line in chosen) else 2
        rows = [line_cells(study, line)[:shown] for line in chosen]
        rule = "|---|" + "--:|" * (shown - 1)
        body = [_row(_HEADER[:shown]), rule, *(_row(cells) for cells in rows)]
        why = "".join(f"\n\nNot comparable: {reason}." for reason in reasons_of(chosen))
        blocks.append(f"## {METRICS[metric]}\n\n" + "\n".join(body) + why)
    if found:
        blocks.append(_answers_block(found))
    return "\n\n".join(blocks) + "\n"


def _answers_block(found: Sequence[Answer]) -> str:
    rows = [
        (
            a.metric, f"{a.first} - {a.second}", ", ".join(a.within.values()) or "-",
            f"{a.difference.mean:+.2f}", f"{_interval(a)}{_star(a)}", str(a.difference.n),
        )
        for a in found
    ]  # fmt: skip
    head = ("metric", "first - second", "within", "mean", "95 % interval", "seeds")
    body = [_row(head), "|---|---|---|--:|---|--:|", *(_row(cells) for cells in rows)]
    return f"## Differences over paired seeds\n\n{STARS}\n\n" + "\n".join(body)


def _interval(answer: Answer) -> str:
    gap = answer.difference
    return "(no interval)" if math.isnan(gap.low) else f"[{gap.low:+.2f}, {gap.high:+.2f}]"


def _star(answer: Answer) -> str:
    if not answer.difference.excludes_zero:
        return ""
    return " **" if answer.p_adjusted < _LEVEL else " *"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
