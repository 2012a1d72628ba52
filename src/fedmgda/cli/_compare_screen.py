"""A comparison on a screen of 80 x 24: totals, who loses most, and where the rest is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from fedmgda.cli._console import out, say
from fedmgda.cli._metrics_line import in_short, shown_value
from fedmgda.metrics import FEW_ROWS, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedmgda.experiments import Against, ClientGain, Comparison

__all__ = ["show_comparison"]

_WORST = 10  # clients shown at most
_LINES = 24  # of a screen
_RARE = 0.2  # share of the positive class below which accuracy says little


def show_comparison(found: Comparison, command: str, last: str = "") -> None:
    """Print a comparison.

    Args:
        found: The comparison.
        command: What shows it again, to which --csv can be added.
        last: A sentence that will be printed behind it, and needs room.
    """
    other = _most_telling(found)
    remarks = list(_remarks(found, other))
    taken = 6 + len(found.runs) + sum(-(-len(line) // out.width) for line in (*remarks, last))
    say(out, _title(found))
    out.print(_totals(found))
    for line in remarks:
        out.print(line, markup=False)
    out.print(_losers(found, other, min(_WORST, max(3, _LINES - taken))))
    say(out, f"Every client, with intervals: [bold]{escape(command)} --csv FILE[/]")


def _title(found: Comparison) -> str:
    seeds = found.runs[0].seeds
    over = f"seed {seeds[0]}" if len(seeds) == 1 else f"mean of {len(seeds)} seeds"
    return (
        f"[bold]{escape(found.runs[0].name)}[/] by {METRICS[found.metric].label}: "
        f"{len(found.clients)} clients, {sum(found.rows)} test rows, {over}"
    )


def _totals(found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("", no_wrap=True, max_width=20)
    for name in ("all rows", "average", "worst", "gain", "lose", "chance", "worse", "chance"):
        table.add_column(name, justify="right", no_wrap=True)
    by_name = {other.name: other for other in found.against}
    for run in found.runs:
        other = by_name.get(run.name)
        table.add_row(
            escape(run.name if other is None else f"against {run.name}"),
            *(_number(found, value) for value in (run.pooled, run.average, run.worst)),
            *(_counts(other) if other else ()),
        )
    return table


def _counts(other: Against) -> tuple[str, ...]:
    return (
        str(other.gaining),
        str(other.losing),
        f"{other.losing_by_chance:.0f} ({other.losing_by_chance_95:.0f})",
        str(other.worse),
        f"{other.worse_by_chance:.1f} ({other.worse_by_chance_95:.0f})",
    )


def _remarks(found: Comparison, other: Against) -> Iterator[str]:
    yield (
        f"worse: lose beyond the chance of the test rows (p <= {found.level:g}). chance: how many"
    )
    yield "would if answers were swapped row by row: on average (in 95 of 100 at most)."
    if len(other.seeds) > 1:
        each = ", ".join(map(str, other.losing_by_seed))
        yield f"Losing against {other.name} in seed {', '.join(map(str, other.seeds))}: {each}."
    few = sum(rows < FEW_ROWS * len(other.seeds) for rows in found.rows)
    if few:
        yield (
            f"{few} of {len(found.rows)} clients have fewer than {FEW_ROWS} test rows: "
            "little is sure of them."
        )
    nothing = sum(math.isnan(client.gain) for client in other.clients)
    if nothing:
        label = METRICS[found.metric].label
        yield f"{nothing} of {len(found.rows)} clients have no {label}: it is not defined there."
    if found.positive is not None and found.positives is not None:
        hits = ", ".join(f"{run.name} {run.found}" for run in found.runs)
        yield f"Found of {found.positives} {found.positive!r}: {hits}."
        share = found.positives / max(1, sum(found.rows))
        if share < _RARE and found.metric == "accuracy":
            yield f"They are {100 * share:.0f} % of all rows: see also --metric auc or log_loss."


def _most_telling(found: Comparison) -> Against:
    """Return the run whose losers are shown: `alone`, as one need not join, or the first."""
    return next((other for other in found.against if other.name == "alone"), found.against[0])


def _losers(found: Comparison, other: Against, count: int) -> Table:
    ours = dict(zip(found.clients, found.runs[0].clients, strict=True))
    theirs = next(run for run in found.runs if run.name == other.name)
    values = dict(zip(found.clients, theirs.clients, strict=True))
    losing = sorted((c for c in other.clients if c.gain < 0), key=lambda c: (c.gain, c.client))
    shown = losing[:count]
    table = Table(
        box=None, pad_edge=False, collapse_padding=True, title_justify="left", title_style=""
    )
    table.title = _heading(other, len(shown), len(losing))
    if not shown:
        return table
    table.add_column("client", no_wrap=True, max_width=22)
    for name in ("rows", found.runs[0].name, other.name, "gain", "95 %", "p"):
        table.add_column(escape(name), justify="right", no_wrap=True, max_width=20)
    for client in shown:
        sure = "[bold red]" if client.beyond_chance == "worse" else ""
        table.add_row(
            escape(client.client),
            str(client.rows),
            _number(found, ours[client.client]),
            _number(found, values[client.client]),
            f"{sure}{_signed(found, client.gain)}",
            _interval(found, client),
            f"{sure}{client.p_worse:.3f}",
        )
    return table


def _interval(found: Comparison, client: ClientGain) -> str:
    if math.isnan(client.low):
        return "few rows"
    return f"{_signed(found, client.low)} to {_signed(found, client.high)}"


def _heading(other: Against, shown: int, losing: int) -> str:
    name = escape(other.name)
    if not losing:
        return f"[bold]Nobody loses against {name}.[/]"
    which = f"The {shown} that lose most" if losing > shown else f"The {losing} that lose"
    return f"[bold]{which} against {name}:[/]"


def _number(found: Comparison, value: float) -> str:
    if math.isnan(value):
        return "none"
    return shown_value(found.metric, value)


def _signed(found: Comparison, value: float) -> str:
    if math.isnan(value):
        return "?"
    sign = "-" if value < 0 else "+"
    percent = METRICS[found.metric].percent
    return sign + (f"{100 * abs(value):.1f}" if percent else in_short(abs(value)))
