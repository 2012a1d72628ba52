"""A comparison on a screen of 80 x 24: totals, who loses most, and where the rest is."""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from fedmgda._text import counted, listed
from fedmgda.cli._console import escape, out
from fedmgda.cli._metrics_line import in_short, shown_value
from fedmgda.cli._screen import wrapped
from fedmgda.experiments import in_seeds, most_telling
from fedmgda.metrics import FEW_ROWS, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from fedmgda.experiments import Against, ClientGain, Comparison, RunScore

__all__ = ["show_comparison"]

_WORST = 10  # clients shown at most
_LINES = 24  # of a screen
_EXPENDABLE = (  # what is left out where there is no room, in this order, and down to how many
    ("clients", 3),
    ("runs", 6),
    ("remarks", 2),
    ("runs", 2),
    ("clients", 1),
)
_NAME, _HEAD = 20, 12  # cells of a client and of a run at most
_HEADS = ("all rows", "average", "worst", "gain", "better", "lose", "chance", "worse", "chance")
_KEY = re.compile(r"(^|_)[a-z]+=")  # in the name of a run of a sweep
_MANY = 5  # runs of which the positives found fit a line
_MANY_SEEDS = 10  # of which the losers are not told one by one
_STALLS = 2  # sentences about stalled rounds
_RARE = 0.2  # share of the positive class below which accuracy says little


def show_comparison(
    found: Comparison, command: str, scorer: Path | None = None, *, named: bool = False
) -> None:
    """Print a comparison, the sentence that must be read last.

    Args:
        found: The comparison.
        command: What shows it again; --metric and --csv can be added.
        scorer: A run whose model may be used next, on new rows.
        named: Whether the metric is not the one that would be taken anyway.
    """
    again = f"{command} --metric {found.metric}" if named else command
    below = [wrapped(f"Every client, with intervals: {again} --csv FILE", out)]
    if scorer is not None:
        model = shlex.quote(str(scorer))
        below.append(wrapped(f"Use it: fedmgda predict {model} new.csv -o scored.csv", out))
    below += [wrapped(sentence, out) for sentence in found.stalls[:_STALLS]]
    below.append(wrapped(found.conclusion, out, "bold"))
    screen = _Screen(found, command)
    room = _LINES - _height(below)
    for part, fewest in _EXPENDABLE:
        while _height(screen.parts()) > room and screen.room[part] > fewest:
            screen.room[part] -= 1
    for shown in (*screen.parts(), *below):
        out.print(shown, soft_wrap=isinstance(shown, Text))


class _Screen:
    """What comes above the last sentences, as far as there is room for it.

    Attributes:
        room: How many clients, runs and remarks are shown.
    """

    def __init__(self, found: Comparison, command: str) -> None:
        self._found, self._command = found, command
        self._other = other = most_telling(found.against)
        self._remarks = list(_remarks(found, other, command))
        # By place: two names can look alike once what cannot be printed has been replaced.
        losing = [place for place, client in enumerate(other.clients) if client.gain < 0]
        losing.sort(key=lambda place: (other.clients[place].gain, other.clients[place].label))
        self._losing = losing
        self.room = {
            "clients": min(_WORST, len(losing)),
            "runs": len(found.runs),
            "remarks": len(self._remarks),
        }

    def parts(self) -> list[RenderableType]:
        """Return title, totals, remarks, and who loses most."""
        found, other, room = self._found, self._other, self.room
        # Those that the sentences are about come before the others.
        important = {found.runs[0].name, other.name}
        ordered = sorted(found.runs, key=lambda run: run.name not in important)
        names = {run.name for run in ordered[: room["runs"]]}
        runs = [run for run in found.runs if run.name in names]
        remarks = self._remarks[: room["remarks"]]
        if left_out := len(found.runs) - len(runs):
            remarks = [f"{counted(left_out, 'more run')}: {self._command} --json", *remarks]
        shown = self._losing[: room["clients"]]
        return [
            _title(found),
            _totals(found, runs),
            *(wrapped(line, out) for line in remarks),
            wrapped(_heading(other, len(shown), len(self._losing)), out, "bold"),
            *([_losers(found, other, shown)] if shown else []),
        ]


def _height(parts: Sequence[RenderableType]) -> int:
    return sum(len(out.render_lines(part)) for part in parts)


def _title(found: Comparison) -> Text:
    seeds = found.runs[0].seeds
    over = f"seed {seeds[0]}" if len(seeds) == 1 else f"mean of {len(seeds)} seeds"
    tested = sum(rows > 0 for rows in found.rows)
    clients, rows = counted(tested, "client"), counted(sum(found.rows), "test row")
    told = f"{clients}, {rows}, {over}"
    if found.against[0].apart:
        each = in_seeds(tested / len(seeds))
        told = f"{each} clients in each of {len(seeds)} seeds, {rows}"
    title = wrapped(f"{found.runs[0].name} by {METRICS[found.metric].label}: {told}", out)
    title.stylize("bold", 0, len(found.runs[0].name))
    return title


def _totals(found: Comparison, runs: Sequence[RunScore]) -> Table:
    by_name = {other.name: other for other in found.against}
    lines = [
        (
            *(_number(found, value) for value in (run.pooled, run.average, run.worst)),
            *(_counts(by_name[run.name]) if run.name in by_name else [""] * 6),
        )
        for run in runs
    ]
    room = out.width - sum(1 + max(map(len, column)) for column in zip(_HEADS, *lines, strict=True))
    first, *others = (run.name for run in runs)
    names = [first, *(f"against {name}" for name in others)]
    if max(map(cell_len, names)) > room:
        names = _short_names([first, *others], room)  # the title says what is held against them
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("", no_wrap=True)
    for head in _HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for name, line in zip(names, lines, strict=True):
        table.add_row(escape(name), *line)
    return table


def _short_names(names: Sequence[str], room: int) -> list[str]:
    """Return names that fit, no two alike, of runs that a sweep may have called by their keys.

    >>> _short_names(["fedavg_protect=True", "fedmgda_protect=True"], 15)
    ['fedavg_True', 'fedmgda_True']
    """
    values = [_KEY.sub(r"\1", name) for name in names]
    for form in (names, values):
        if max(map(cell_len, form)) <= room:
            break
    else:
        form = [_end_of(name, room) for name in values]
    if len(set(form)) == len(set(names)):
        return list(form)
    return [
        f"{place} {_end_of(name, room - len(f'{place} '))}" for place, name in enumerate(names, 1)
    ]


def _end_of(name: str, room: int) -> str:
    """Cut a name that is too long at its beginning, as what distinguishes it comes last."""
    return name if len(name) <= room else f"…{name[len(name) - max(1, room - 1) :]}"


def _counts(other: Against) -> tuple[str, ...]:
    return (
        in_seeds(other.gaining),
        _chance(other, in_seeds(other.better)),
        in_seeds(other.losing),
        _chance(other, f"{other.losing_by_chance:.0f} ({in_seeds(other.losing_by_chance_95)})"),
        _chance(other, in_seeds(other.worse)),
        _chance(other, f"{other.worse_by_chance:.1f} ({in_seeds(other.worse_by_chance_95)})"),
    )


def _chance(other: Against, text: str) -> str:
    return "?" if math.isnan(other.losing_by_chance) else text


def _remarks(found: Comparison, other: Against, command: str) -> Iterator[str]:
    if math.isnan(other.losing_by_chance):
        yield "No test rows were kept: what is owed to their chance is not known (?)."
    else:
        yield (
            f"better, worse: beyond the chance of the test rows (p <= {found.level:g}). "
            "chance: how many"
        )
        yield "would if answers were swapped row by row: on average (in 95 of 100 at most)."
    if other.apart:
        yield "Each seed deals its own clients: counts are means over seeds, values are not."
    if len(other.seeds) > 1:
        yield _by_seed(other)
    yield from _about_steps(found)
    yield from _about_clients(found, other)
    if found.positive is not None and found.positives is not None:
        few = len(found.runs) <= _MANY
        told = [run for run in found.runs if few or run.name in {found.runs[0].name, other.name}]
        hits = ", ".join(f"{run.name} {run.found}" for run in told)
        yield f"Found of {found.positives} {found.positive!r}: {hits}."
        share = found.positives / max(1, sum(found.rows))
        if share < _RARE and found.metric == "accuracy":
            yield f"They are {100 * share:.0f} % of all rows; see also: {command} --metric auc"


def _about_clients(found: Comparison, other: Against) -> Iterator[str]:
    """Say of how many clients little or nothing is known."""
    tested = [rows for rows in found.rows if rows]
    of = counted(len(tested), "client")
    tests = 1 if other.apart else len(other.seeds)
    few = sum(rows < FEW_ROWS * tests for rows in tested)
    if few:
        have = "has" if few == 1 else "have"
        each = " a seed" if tests > 1 else ""
        yield f"{few} of {of} {have} fewer than {FEW_ROWS} test rows{each}: little is sure of them."
    if out := len(found.rows) - len(tested):
        who = "client is" if out == 1 else "clients are"
        yield f"{out} more {who} not compared, having no test row or attacking."
    nothing = sum(math.isnan(client.gain) and client.rows > 0 for client in other.clients)
    if nothing:
        label = METRICS[found.metric].label
        have = "has" if nothing == 1 else "have"
        yield f"{nothing} of {of} {have} no {label}: it is not defined there."


def _about_steps(found: Comparison) -> Iterator[str]:
    """Say of protected runs, and of those they are held against, whom their steps harmed."""
    told = []
    names = _short_names([run.name for run in found.runs], _NAME)
    for name, run in zip(names, found.runs, strict=True):
        if run.protection is not None:
            made = run.protection
            none = "not measured" if made.with_step else "no step"
            share = none if made.improved_with_step is None else _share(made.improved_with_step)
            told.append(f"{name} {share} (protected, {_share(made.held)} of rounds held)")
        elif run.improved is not None:
            told.append(f"{name} {_share(run.improved)}")
    if any(run.protection is not None for run in found.runs):
        yield f"Participants that a step left with no higher training loss: {listed(told, _MANY)}."


def _share(percent: float) -> str:
    """Write a share so that only all is 100 %.

    >>> _share(100.0), _share(99.99), _share(34.66), _share(0.01)
    ('100 %', '99.9 %', '34.7 %', '0.01 %')
    """
    return f"{percent if percent == 100 else min(percent, 99.9):.3g} %"


def _by_seed(other: Against) -> str:
    counts = other.losing_by_seed
    if len(counts) > _MANY_SEEDS:
        each = f"{min(counts)} to {max(counts)}"
        return f"Losing against {other.name} in each of {len(counts)} seeds: {each}."
    each = ", ".join(map(str, counts))
    return f"Losing against {other.name} in seed {', '.join(map(str, other.seeds))}: {each}."


def _losers(found: Comparison, other: Against, shown: Sequence[int]) -> Table:
    theirs = next(run for run in found.runs if run.name == other.name)
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("client", no_wrap=True, max_width=_NAME)
    heads = _short_names((found.runs[0].name, other.name), _HEAD)
    for name in ("rows", *heads, "gain", "95 %", "p"):
        table.add_column(escape(name), justify="right", no_wrap=True)
    for place in shown:
        client = other.clients[place]
        sure = "[bold red]" if client.beyond_chance == "worse" else ""
        table.add_row(
            escape(client.label),
            str(client.rows),
            _number(found, found.runs[0].clients[place]),
            _number(found, theirs.clients[place]),
            f"{sure}{_signed(found, client.gain)}",
            _interval(found, client),
            f"{sure}{client.p_worse:.3f}" if client.p_worse >= 0 else "?",
        )
    return table


def _interval(found: Comparison, client: ClientGain) -> str:
    if math.isnan(client.low):
        return "?" if math.isnan(client.p_worse) else "few rows"
    return f"{_signed(found, client.low)} to {_signed(found, client.high)}"


def _heading(other: Against, shown: int, losing: int) -> str:
    if not losing:
        return f"Nobody loses against {other.name}."
    which = (
        f"The {shown} of {losing} that lose most" if losing > shown else f"The {losing} that lose"
    )
    if losing == 1:
        which = "The one that loses"
    elif shown == 1:
        which = f"The one of {losing} that loses most"
    return f"{which} against {other.name}:"


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
