"""What is shown of a finished run: one screen of 80 x 24, the most important thing last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from fedmgda._text import printable
from fedmgda.cli._console import escape, out
from fedmgda.cli._metrics_line import metrics_line
from fedmgda.cli._tables import summary_table
from fedmgda.experiments import worst_clients

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from fedmgda.experiments import ClientLine, Run

__all__ = ["height", "print_screen", "screen", "wrapped"]

_LINES = 24  # of the smallest terminal that everything must fit
_WORST = 10  # clients that are shown
_FEW = 10  # test rows: of fewer, a percentage would be a lie
_NAME = 24  # cells of a name
_JOIN = "\ue000"  # stands for a space where no line may end; no name has it


def print_screen(run: Run) -> None:
    """Show a finished run."""
    for part in screen(run, out):
        out.print(part, soft_wrap=isinstance(part, Text))


def screen(run: Run, console: Console) -> list[RenderableType]:
    """Return what fits a screen: clients, summary, sentences, where the rest is, the headline.

    Args:
        run: A finished run.
        console: What it will be shown on; its width is what counts.
    """
    verdict = run.verdict
    summary = summary_table(run.summary)
    headline = wrapped(verdict.headline, console, "bold" if verdict.good else "bold red")
    sentences = [wrapped(sentence, console) for sentence in verdict.sentences]
    metrics = run.summary.metrics
    measured = [] if metrics is None else [wrapped(metrics_line(metrics), console)]
    worst = worst_clients(run, _WORST)
    # What was kept to whom, and why a run ended, comes before the tenth client.
    needed = 1 if run.summary.protection is None else 3

    def parts() -> list[RenderableType]:
        title = Text(f"Largest test losses, {len(worst)} of {len(run.clients)} clients", "italic")
        where = wrapped(_where(run, len(verdict.sentences) - len(sentences)), console)
        clients = _worst_table(worst)
        return [title, clients, summary, *measured, *sentences, where, headline]

    while height(parts(), console) > _LINES and (len(sentences) > needed or len(worst) > 1):
        # The least important goes first: a sentence, then, for a folder with a long name, a client.
        (sentences if len(sentences) > needed else worst).pop()
    return parts()


def _where(run: Run, left_out: int) -> str:
    more = f", summary.json {left_out} more sentence{'s' * (left_out > 1)}" if left_out else ""
    return f"Everything about the run is in {run.path}; clients.csv has every client{more}."


def height(parts: list[RenderableType], console: Console) -> int:
    """Return how many lines some parts take."""
    return sum(len(console.render_lines(part)) for part in parts)


def wrapped(sentence: str, console: Console, style: str = "") -> Text:
    """Break a sentence between words, never within one, nor between -c and what goes with it."""
    lines = [""]
    for word in printable(sentence).replace("-c ", f"-c{_JOIN}").split():
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and cell_len(longer) > console.width:
            lines.append(word)
        else:
            lines[-1] = longer
    return Text("\n".join(lines).replace(_JOIN, " "), style)


def _worst_table(lines: list[ClientLine]) -> Table:
    """Show the clients with the largest losses, never a share of few rows without their number."""
    classes = any(line.interval is not None for line in lines)
    head, counts = _counts(lines)
    table = Table(box=None, pad_edge=False)
    table.add_column("client", no_wrap=True, overflow="ellipsis", max_width=_NAME)
    heads = ["test rows", *(["right", "95 % interval"] if classes else []), "loss", "± 2 s.e."]
    for name in [*heads, *([head] if counts else [])]:
        table.add_column(name, justify="right", no_wrap=True)
    for place, line in enumerate(lines):
        cells = [str(line.test_examples), *(_share(line) if classes else [])]
        cells += [f"{line.loss:.3g}", _error(line)]
        cells += [str(counts[place])] if counts else []
        table.add_row(escape(line.name), *cells)
    return table


def _counts(lines: list[ClientLine]) -> tuple[str, list[int]]:
    """Return what is counted in rounds of each client, if it happened to one of them."""
    kinds = {"rounds against it": [line.rounds_sacrificed or 0 for line in lines]}
    if any(line.rounds_opposed is not None for line in lines):
        # The direction of the rule was only proposed: what counts is the step that was made.
        kinds = {
            "rounds overridden": [line.rounds_overridden or 0 for line in lines],
            "rounds it opposed": [line.rounds_opposed or 0 for line in lines],
        }
    return next(((head, counts) for head, counts in kinds.items() if any(counts)), ("", []))


def _error(line: ClientLine) -> str:
    if line.test_examples < _FEW:
        return "few rows"
    return "-" if math.isnan(line.error) else f"{2 * line.error:.2g}"


def _share(line: ClientLine) -> list[str]:
    if line.interval is None:
        return ["-", "-"]
    low, high = line.interval
    right = f"{100 * line.accuracy:.0f} %"
    if line.test_examples < _FEW:
        right = f"{round(line.accuracy * line.test_examples)} of {line.test_examples}"
    return [right, f"{100 * low:.0f} to {100 * high:.0f} %"]
