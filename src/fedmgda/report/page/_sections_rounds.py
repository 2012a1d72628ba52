"""Sections about rounds: curves, sacrifices, certificates, and what was logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._text import counted
from fedmgda.report.page._chart_logs import (
    quarantine_chart,
    seconds_chart,
)
from fedmgda.report.page._chart_rounds import (
    average_charts,
    certificate_charts,
    idle_chart,
    improved_chart,
    pareto_chart,
)
from fedmgda.report.page._logs import quarantine_tables, seconds_table
from fedmgda.report.page._over_rounds import (
    average_table,
    certificate_table,
    idle_table,
    improved_table,
    pareto_table,
)
from fedmgda.report.page._run_view import ROUNDS
from fedmgda.report.page._section import LeftOut, Section

if TYPE_CHECKING:
    from fedmgda.report.page._section import Context
    from fedmgda.report.page._table import Table

__all__ = [
    "certificate_section",
    "improved_section",
    "pareto_section",
    "quarantine_section",
    "rounds_section",
    "seconds_section",
]


def rounds_section(context: Context) -> Section | LeftOut:
    """Return the average user against the worst 5 %."""
    title = "Does the average hide the worst?"
    table = average_table(context.source, context.measure)
    if table is None:
        return LeftOut(title=title, why="no evaluation has been made yet, or nobody has test rows.")
    worst = "5th" if context.measure == "accuracy" else "95th"
    lead = (
        (
            f"Test {context.measure} of honest users after the evaluated rounds. The worst 5 % is "
            f"the {worst} percentile over users; a band goes from the lowest to the highest seed."
        ),
        *(
            ["Who trains alone is tested at the end only, and has no line."]
            if any(view.run.spec.baseline == "alone" for view in context.source.views)
            else []
        ),
    )
    return Section(
        name="rounds",
        short="Average and worst",
        title=title,
        lead=lead,
        tables=(table,),
        charts=tuple(average_charts(context.measure, context.value, _span(table))),
    )


def _span(table: Table) -> tuple[float, float]:
    """Return the least and the largest value that is drawn."""
    cells = [*table.column("low"), *table.column("high")]
    known = [float(cell) for cell in cells if cell is not None]
    return min(known), max(known)


def improved_section(context: Context) -> Section | LeftOut:
    """Return whom rounds left no worse off, and rounds that did nothing."""
    title = "Was anyone sacrificed on the way?"
    improved, idle = improved_table(context.source), idle_table(context.source)
    if improved is None and idle is None:
        why = "no round measured its participants' losses (evaluation.improved), and none was held."
        return LeftOut(title=title, why=why)
    lead = []
    if improved is not None:
        lead.append(
            "The share of a round's honest participants whose own training loss did not rise, "
            "smoothed over 50 rounds as in the paper; a band goes from the lowest to the highest "
            "seed."
        )
    if idle is not None:
        lead.append(
            "Held: protection left the model where it was. Stalled: the updates cancelled. Against "
            "somebody: ⟨gᵢ, d⟩ < 0 for a participant, to first order."
        )
    else:
        read = " that could be read" if context.source.unread(ROUNDS) else ""
        lead.append(f"No round{read} was held, stalled, failed or went against a participant.")
    return Section(
        name="improved",
        short="Sacrificed",
        title=title,
        lead=tuple(lead),
        tables=tuple(table for table in (improved, idle) if table is not None),
        charts=(
            *([improved_chart()] if improved is not None else []),
            *([idle_chart()] if idle is not None else []),
        ),
    )


def certificate_section(context: Context) -> Section | LeftOut:
    """Return the certificate of every round."""
    title = "What does the certificate say?"
    table = certificate_table(context.source)
    if table is None:
        return LeftOut(title=title, why="no round with a direction has been recorded.")
    parts = {str(cell) for cell in table.column("part")}
    lead = (
        (
            "Every round records how long its direction is, whom it serves least, and how far λ is "
            "from exact; fedmgda verify computes all of it again. Lines are means over spans of "
            "rounds, bands their range."
        ),
    )
    return Section(
        name="certificate",
        short="Certificate",
        title=title,
        lead=lead,
        tables=(table,),
        charts=tuple(certificate_charts(parts)),
    )


def pareto_section(context: Context) -> Section | LeftOut:
    """Return the distance from Pareto stationarity."""
    title = "Is there anything left to gain for all?"
    table = pareto_table(context.source)
    if table is None:
        wanted = any(view.run.spec.evaluation.pareto for view in context.source.views)
        why = "the Pareto residual was not measured (evaluation.pareto = true measures it)."
        return LeftOut(title=title, why=why, sure=not wanted)
    lead = (
        "The shortest mixture of all users' full gradients. At 0 no direction serves everybody.",
    )
    return Section(
        name="pareto",
        short="Pareto",
        title=title,
        lead=lead,
        tables=(table,),
        charts=(pareto_chart(),),
    )


def quarantine_section(context: Context) -> Section | LeftOut:
    """Return the replies that did not count."""
    title = "Whose replies did not count?"
    found = quarantine_tables(context.source)
    if found is None:
        why = (
            "every reply counted."
            if any(view.rounds for view in context.source.views)
            else "no round is known."
        )
        return LeftOut(title=title, why=why)
    kinds, log = found
    count = sum(int(replies or 0) for replies in kinds.column("replies"))
    lead = f"{counted(count, 'reply' if count == 1 else 'replie')} did not count."
    if count > len(log.rows):
        lead += f" The first {len(log.rows)} are listed singly; rounds.jsonl has all of them."
    return Section(
        name="quarantine",
        short="Quarantine",
        title=title,
        lead=(lead,),
        tables=(kinds, log),
        charts=(quarantine_chart(),),
    )


def seconds_section(context: Context) -> Section | LeftOut:
    """Return where the time went."""
    title = "Where did the time go?"
    table = seconds_table(context.source)
    if table is None:
        return LeftOut(title=title, why="no timings were kept.")
    lead = ("Wall-clock seconds by phase; they depend on the machine and never repeat exactly.",)
    return Section(
        name="seconds",
        short="Time",
        title=title,
        lead=lead,
        tables=(table,),
        charts=(seconds_chart(),),
    )
