"""The command that proves what can be proved of a run, and says what cannot."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (read at run time)
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from fedmgda._errors import StoreError
from fedmgda._text import counted
from fedmgda.cli._console import escape, out, say
from fedmgda.cli._screen import height, wrapped
from fedmgda.experiments import holds_run, run_folders, to_json, verify as verify_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from fedmgda.experiments import Audit, Finding

__all__ = ["audit_screen", "verify"]

_LINES = 24  # of the smallest terminal that everything must fit
_CLAIM = 21  # cells of a claim


def verify(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, or folders of runs.", metavar="RUN...")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, nothing else.")
    ] = False,
) -> None:
    """Prove a run: every byte of its results, every certificate and summary computed again."""
    folders = [folder for path in runs for folder in _runs_in(path)]
    audits: list[Audit] = []
    for folder in folders:
        audits.append(verify_run(folder))
        if len(folders) > 1 and not as_json:
            _print_line(audits[-1])
    verified = all(audit.verified for audit in audits)
    if as_json:
        found = {"verified": verified, "verdict": _verdict(audits), "runs": audits}
        out.print_json(to_json(found))
    elif len(audits) == 1:
        for part in audit_screen(audits[0], out):
            out.print(part, soft_wrap=isinstance(part, Text))
    else:
        say(out, _styled(_verdict(audits), verified=verified))
    if not verified:
        raise typer.Exit(StoreError.exit_code)


def _runs_in(path: Path) -> list[Path]:
    """Return a run folder, or those that lie in a folder; one without any is refused later."""
    return [path] if holds_run(path) else run_folders(path) or [path]


def _print_line(audit: Audit) -> None:
    name = escape(audit.path)
    say(out, f"{name}: {_styled(audit.verdict, verified=audit.verified)}")


def _styled(verdict: str, *, verified: bool) -> str:
    style = "bold" if verified else "bold red"
    return f"[{style}]{escape(verdict)}[/]"


def _verdict(audits: Sequence[Audit]) -> str:
    if len(audits) == 1:
        return audits[0].verdict
    wrong = [audit for audit in audits if not audit.verified]
    if wrong:
        first = wrong[0]
        return f"NOT verified: {len(wrong)} of {len(audits)} runs, the first is {first.path}."
    rounds = counted(sum(audit.rounds for audit in audits), "round")
    open_ones = sum(audit.state == "unfinished" for audit in audits)
    tail = f", {open_ones} of them not finished" if open_ones else ""
    return f"verified: {len(audits)} runs, {rounds}{tail}."


def audit_screen(audit: Audit, console: Console) -> list[RenderableType]:
    """Return what fits a screen: what is proved and by what, what is not, and the last word.

    Args:
        audit: What was found.
        console: What it will be shown on; its width is what counts.
    """
    proved = list(audit.of("proved"))
    what = f"{audit.state} run of format {audit.format}, {counted(audit.rounds, 'round')}"
    head = wrapped(f"{audit.path}: {what}", console, "italic")
    style = "bold" if audit.verified else "bold red"
    verdict = wrapped(audit.verdict, console, style)

    def parts() -> list[RenderableType]:
        hidden = len(audit.of("proved")) - len(proved)
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True, min_width=_CLAIM)
        table.add_column(overflow="fold")
        for cells in _lines(audit, proved, hidden):
            table.add_row(*cells)
        limits = wrapped(_limits(audit), console, "dim")
        return [head, table, limits, verdict]

    while height(parts(), console) > _LINES and len(proved) > 1:
        proved.pop()
    return parts()


def _lines(
    audit: Audit, proved: Sequence[Finding], hidden: int
) -> Iterator[tuple[Text | str, Text | str]]:
    yield Text("Proved", "bold"), Text("by", "bold")
    for finding in proved:
        yield escape(finding.claim), escape(finding.by)
    if hidden:
        yield f"and {counted(hidden, 'more claim')}", "which --json has"
    for standing, name, style in (
        ("not checkable", "Not checkable", "bold"),
        ("wrong", "WRONG", "bold red"),
    ):
        found = audit.of(standing)  # type: ignore[arg-type]  # a text of the tuple above
        if found:
            yield Text(name, style), ""
        for finding in found:
            where = f"{finding.place}: " if finding.place else ""
            yield escape(finding.claim), escape(where + finding.by)


def _limits(audit: Audit) -> str:
    """Say what is not proved, and cannot be."""
    return (
        f"No folder can prove {', nor '.join(audit.not_proved)}. "
        f"Not covered, being no results: {', '.join(audit.not_covered)}."
    )
