"""The page of a study, for people, in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda.paper._metrics import HEADINGS, METRICS
from fedmgda.paper._text import (
    SEEN,
    STARS,
    interval_text,
    line_cells,
    preamble,
    primaries_lines,
    reasons_of,
    star,
    worth_saying,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedmgda.paper._comparison import Line
    from fedmgda.paper._promise import Promise
    from fedmgda.paper._questions import Answer
    from fedmgda.paper._report import Report
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["markdown"]

_HEADER = ("row", "ours", "published", "difference", "verdict", "Welch's p")


def markdown(study: Study, setting: Setting, report: Report) -> str:
    """Write the whole comparison.

    What was fixed beforehand comes first and the last model second; where the paper prints numbers,
    which are about the last model, it is the other way round.
    """
    top = [f"# {study.title}", "\n\n".join(preamble(study, setting, report.lines))]
    last, fixed = _of_last_model(study, report), _of_fixed(study, report)
    blocks = [*top, *last, *fixed] if study.published else [*top, *fixed, *last]
    return "\n\n".join(blocks) + "\n"


def _of_last_model(study: Study, report: Report) -> list[str]:
    metrics = dict.fromkeys(line.metric for line in report.lines)
    blocks = [_metric_block(study, metric, report.lines) for metric in metrics]
    return [*blocks, *([_answers_block(report.answers)] if report.answers else [])]


def _of_fixed(study: Study, report: Report) -> list[str]:
    blocks = []
    if report.primaries:
        blocks.append(_list_block("Primary comparisons", primaries_lines(report.primaries)))
    if report.promises:
        blocks.append(_promises_block(report.promises))
    if report.fixed:
        blocks.append(_fixed_block(study, report.fixed))
    if report.fixed_answers:
        blocks.append(_differences_block(report.fixed_answers))
    return blocks


def _list_block(title: str, texts: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {text}" for text in texts)


def _promises_block(found: Sequence[Promise]) -> str:
    rows = [
        (
            p.row, f"{p.losses:,} in {p.rounds:,} rounds of {p.runs} runs", f"{p.rose:,}",
            f"{p.held:.2f} ({p.most_held:.2f})", f"{p.short:.2f} ({p.most_short:.2f})",
            f"{p.overridden:.2f}", "-" if p.path is None else f"{p.path:.0f} of {p.plain}",
        )
        for p in found
    ]  # fmt: skip
    head = (
        "protected row", "losses of honest participants", "rose", "held, % (most in a run)",
        "s below 1/16, % (most)", "overridden, %", "path, %",
    )  # fmt: skip
    body = [_row(head), "|---|--:|--:|--:|--:|--:|--:|", *(_row(cells) for cells in rows)]
    return "## The promise, round by round\n\n" + "\n".join(body)


def _fixed_block(study: Study, fixed: Sequence[Line]) -> str:
    """Write one table of all metrics that were fixed beforehand."""
    metrics = list(dict.fromkeys(line.metric for line in fixed))
    found: dict[str, dict[str, str]] = {}
    for line in fixed:
        row, ours, *_ = line_cells(study, line)
        found.setdefault(row, {})[line.metric] = ours
    body = [
        _row(["row", *(HEADINGS[metric] for metric in metrics)]),
        "|---|" + "--:|" * len(metrics),
        *(_row([row, *(texts[metric] for metric in metrics)]) for row, texts in found.items()),
    ]
    return "## What was fixed beforehand\n\n" + "\n".join(body)


def _differences_block(found: Sequence[Answer]) -> str:
    rows = [
        (
            HEADINGS[a.metric], f"{a.first} - {a.second}", ", ".join(a.within.values()) or "-",
            f"{a.difference.mean:+.2f}", interval_text(a.difference),
            "seen" if a.difference.excludes_zero else "", str(a.difference.n),
        )
        for a in worth_saying(found)
    ]  # fmt: skip
    head = ("metric", "first - second", "within", "mean", "95 % interval", "", "seeds")
    body = [_row(head), "|---|---|---|--:|---|---|--:|", *(_row(cells) for cells in rows)]
    return f"## Differences in it over paired seeds\n\n{SEEN}\n\n" + "\n".join(body)


def _metric_block(study: Study, metric: str, lines: Sequence[Line]) -> str:
    chosen = [line for line in lines if line.metric == metric]
    shown = len(_HEADER) if any(line.published for line in chosen) else 2
    rows = [line_cells(study, line)[:shown] for line in chosen]
    rule = "|---|" + "--:|" * (shown - 1)
    body = [_row(_HEADER[:shown]), rule, *(_row(cells) for cells in rows)]
    why = "".join(f"\n\nNot comparable: {reason}." for reason in reasons_of(chosen))
    return f"## {METRICS[metric]}\n\n" + "\n".join(body) + why


def _answers_block(found: Sequence[Answer]) -> str:
    rows = [
        (
            a.metric, f"{a.first} - {a.second}", ", ".join(a.within.values()) or "-",
            f"{a.difference.mean:+.2f}", f"{interval_text(a.difference)}{star(a)}",
            str(a.difference.n),
        )
        for a in found
    ]  # fmt: skip
    head = ("metric", "first - second", "within", "mean", "95 % interval", "seeds")
    body = [_row(head), "|---|---|---|--:|---|--:|", *(_row(cells) for cells in rows)]
    return f"## Differences over paired seeds\n\n{STARS}\n\n" + "\n".join(body)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
