"""Sections about users: how each is served, who gains, who steers, one by one, attackers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._text import counted
from fedmgda.report.page._chart_gains import dumbbells, gain_chart
from fedmgda.report.page._chart_logs import (
    attack_users_chart,
    attack_weight_chart,
    blocking_chart,
    story_chart,
)
from fedmgda.report.page._chart_users import (
    ecdf_chart,
    steering_chart,
    strip_chart,
)
from fedmgda.report.page._joined import joined_table, pairs_table
from fedmgda.report.page._logs import attack_tables
from fedmgda.report.page._run_view import CLIENTS, ROUNDS
from fedmgda.report.page._section import LeftOut, Section
from fedmgda.report.page._steering import blocking_table, steering_table
from fedmgda.report.page._story import story_tables, untold
from fedmgda.report.page._users import users_table

if TYPE_CHECKING:
    from fedmgda.report.page._section import Context

__all__ = ["attack_section", "gains_section", "steering_section", "story_section", "users_section"]


def users_section(context: Context) -> Section | LeftOut:
    """Return how every user is served."""
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
    if context.source.apart:
        lead.append(
            "Each seed deals the rows anew, to users of its own: a dot is one user of one seed."
        )
    return Section(
        name="users",
        short="Users",
        title=title,
        lead=tuple(lead),
        tables=(table,),
        charts=(strip_chart(table, value), ecdf_chart(value)),
    )


def gains_section(context: Context) -> Section | LeftOut:
    """Return who is better off under one run than under another."""
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
    if joined.apart:
        lead.append(
            "Each seed deals the rows anew, to users of its own: counts are means over seeds, and "
            "no user's values are."
        )
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


def steering_section(context: Context) -> Section | LeftOut:
    """Return who steers and who blocks."""
    title = "Who steers, and who blocks?"
    steering, blocking = steering_table(context.source), blocking_table(context.source)
    if steering is None:
        return LeftOut(title=title, why="no round with weights λ has been recorded.")
    lead = [
        (
            "λ is the weight of a participant's update in the common direction: 1/m each is plain "
            "averaging. Where a client has no mark it did not take part. A step goes against a "
            "client if ⟨gᵢ, d⟩ < 0, to first order. Of several seeds the first is shown."
        ),
    ]
    charts = [steering_chart(steering)]
    if blocking is not None:
        charts.append(blocking_chart(len(blocking.rows)))
    else:
        read = " that could be read" if context.source.unread(ROUNDS, CLIENTS) else ""
        lead.append(f"No round{read} went against a client, and none opposed a step.")
    return Section(
        name="steering",
        short="Steering",
        title=title,
        lead=tuple(lead),
        tables=tuple(table for table in (steering, blocking) if table is not None),
        charts=tuple(charts),
    )


def story_section(context: Context) -> Section | LeftOut:
    """Return one user, as the reader chooses."""
    title = "How did one user fare?"
    tables = story_tables(context.source, context.measure)
    if tables is None:
        return LeftOut(title=title, why="no user has been evaluated yet.")
    bands = "low" in tables[0].columns
    over = "A band goes from the lowest to the highest seed." if bands else None
    if context.source.apart:
        over = "Each seed deals the rows anew, to users of its own: one is chosen with its seed."
    lead = ("Write the name of a user, or click a dot above.", over, untold(context.source))
    return Section(
        name="story",
        short="One user",
        title=title,
        lead=tuple(sentence for sentence in lead if sentence),
        tables=tables,
        charts=(story_chart(context.value, bands=bands),),
        search=True,
    )


def attack_section(context: Context) -> Section | LeftOut:
    """Return honest and malicious users apart."""
    title = "What did the attackers reach?"
    tables = attack_tables(context.source, context.measure)
    if tables is None:
        attacked = any(view.attacked for view in context.source.views)
        early = "who attacks is known by name, and names when a run is finished."
        why = early if attacked else "no run was attacked."
        return LeftOut(title=title, why=why, sure=not attacked)
    users, weights = tables
    lead = ("Honest and malicious users apart; averages elsewhere on the page are of honest ones.",)
    return Section(
        name="attack",
        short="Attack",
        title=title,
        lead=lead,
        tables=tuple(table for table in tables if table.rows),
        charts=(
            *([attack_users_chart(context.value)] if users.rows else []),
            *([attack_weight_chart()] if weights.rows else []),
        ),
    )
