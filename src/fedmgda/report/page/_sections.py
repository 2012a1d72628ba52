"""The sections of a page, in the order in which a reader asks; what has no data says why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from fedmgda._text import counted
from fedmgda.report.page._chart_rounds import (
    attack_charts,
    average_charts,
    blocking_chart,
    certificate_charts,
    idle_chart,
    improved_chart,
    pareto_chart,
    quarantine_chart,
    seconds_chart,
    story_chart,
)
from fedmgda.report.page._chart_users import (
    dumbbells,
    ecdf_chart,
    gain_chart,
    steering_chart,
    strip_chart,
)
from fedmgda.report.page._joined import joined_table, pairs_table
from fedmgda.report.page._logs import attack_tables, quarantine_table, seconds_table
from fedmgda.report.page._over_rounds import (
    average_table,
    certificate_table,
    idle_table,
    improved_table,
    pareto_table,
)
from fedmgda.report.page._section import Context, LeftOut, Section
from fedmgda.report.page._steering import blocking_table, steering_table
from fedmgda.report.page._story import story_tables
from fedmgda.report.page._users import users_table

if TYPE_CHECKING:
    from fedmgda.report.page._table import Table

__all__ = ["all_sections"]


Part: TypeAlias = Callable[[Context], Section | LeftOut]


def all_sections(context: Context) -> Iterator[Section | LeftOut]:
    """Yield every section that has data, and why others have none."""
    for part in _PARTS:
        yield part(context)


def _users(context: Context) -> Section | LeftOut:
    title = "How is every user served?"
    table = users_table(context.source, context.measure, context.joined)
    if table is None:
        return LeftOut(title=title, why="no user has been tested yet, or nobody has test rows.")
    value = context.compared
    lead = [
        (
            "Every dot is a user; point at it for its name and its 95 % interval, click it for its "
            "story. The mean hides whom the model fails: look at the left end."
        ),
    ]
    if any(cell > 1 for cell in table.column("seeds") if isinstance(cell, int)):
        lead.append("With several seeds a dot is the mean over them.")
    return Section(
        name="users",
        short="Users",
        title=title,
        lead=tuple(lead),
        tables=(table,),
        charts=(strip_chart(table, value), ecdf_chart(value)),
    )


def _gains(context: Context) -> Section | LeftOut:
    title = "Who is better off, and who pays for it?"
    joined = context.joined
    if not joined.pairs:
        return LeftOut(title=title, why=" ".join(joined.why_not) or "there is one run only.")
    table, pairs, value = joined_table(joined), pairs_table(joined), context.compared
    lead = list[str]()
    if joined.draws:
        lead.append(
            "Beyond chance: swapping the two models' answers row by row does as much no more often "
            f"than {100 * joined.pairs[0].found.level:g} times in 100 ({joined.draws:,} draws)."
        )
    else:
        lead.append("No test rows were kept: what is owed to their chance is not known.")
    if joined.left_out:
        lead.append(f"{counted(joined.left_out, 'more pair')} left out: fedmgda compare has them.")
    lead += joined.why_not
    return Section(
        name="gains",
        short="Better or worse off",
        title=title,
        lead=tuple(lead),
        tables=(table, pairs),
        charts=(dumbbells(table, value), gain_chart(table, value)),
        shown=pairs,
    )


def _rounds(context: Context) -> Section | LeftOut:
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


def _improved(context: Context) -> Section | LeftOut:
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
        lead.append("No round was held, stalled, failed or went against a participant.")
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


def _steering(context: Context) -> Section | LeftOut:
    title = "Who steers, and who blocks?"
    steering, blocking = steering_table(context.source), blocking_table(context.source)
    if steering is None:
        return LeftOut(title=title, why="no round with weights λ has been recorded.")
    lead = [
        (
            "λ is the weight of a participant's update in the common direction: 1/m each is plain "
            "averaging. Where a client has no mark it did not take part. Of several seeds the "
            "first is shown."
        ),
    ]
    charts = [steering_chart(steering)]
    if blocking is not None:
        charts.append(blocking_chart(len(blocking.rows)))
    else:
        lead.append("No round went against a client, and none opposed a step.")
    return Section(
        name="steering",
        short="Steering",
        title=title,
        lead=tuple(lead),
        tables=tuple(table for table in (steering, blocking) if table is not None),
        charts=tuple(charts),
    )


def _certificate(context: Context) -> Section | LeftOut:
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


def _pareto(context: Context) -> Section | LeftOut:
    title = "Is there anything left to gain for all?"
    table = pareto_table(context.source)
    if table is None:
        why = "the Pareto residual was not measured (evaluation.pareto = true measures it)."
        return LeftOut(title=title, why=why)
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


def _story(context: Context) -> Section | LeftOut:
    title = "How did one user fare?"
    tables = story_tables(context.source, context.measure)
    if tables is None:
        return LeftOut(title=title, why="no user has been evaluated yet.")
    lead = ("Write the name of a user, or click a dot above. Of several seeds the first is shown.",)
    return Section(
        name="story",
        short="One user",
        title=title,
        lead=lead,
        tables=tables,
        charts=(story_chart(context.value),),
        search=True,
    )


def _attack(context: Context) -> Section | LeftOut:
    title = "What did the attackers reach?"
    tables = attack_tables(context.source, context.measure)
    if tables is None:
        return LeftOut(title=title, why="no run was attacked.")
    users, weights = tables
    lead = ("Honest and malicious users apart; averages elsewhere on the page are of honest ones.",)
    return Section(
        name="attack",
        short="Attack",
        title=title,
        lead=lead,
        tables=(users, *([weights] if weights.rows else [])),
        charts=tuple(attack_charts(context.value, weights=bool(weights.rows))),
    )


def _quarantine(context: Context) -> Section | LeftOut:
    title = "Whose replies did not count?"
    found = quarantine_table(context.source)
    if found is None:
        return LeftOut(title=title, why="every reply counted.")
    table, count = found
    lead = f"{counted(count, 'reply' if count == 1 else 'replie')} did not count."
    if count > len(table.rows):
        lead += f" The first {len(table.rows)} are listed; rounds.jsonl has all of them."
    return Section(
        name="quarantine",
        short="Quarantine",
        title=title,
        lead=(lead,),
        tables=(table,),
        charts=(quarantine_chart(),),
    )


def _seconds(context: Context) -> Section | LeftOut:
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


_PARTS: tuple[Part, ...] = (
    _users, _gains, _rounds, _improved, _steering, _certificate, _pareto, _story, _attack,
    _quarantine, _seconds,
)  # fmt: skip
