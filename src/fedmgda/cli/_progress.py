"""Progress: a live bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    TextColumn,
    TimeRemainingColumn,
)

from fedmgda.cli._console import err, escape, note, say

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from fedmgda.experiments import Collection, EvaluationRow, JobState, Progress

__all__ = ["leave_if_failed", "watch_jobs", "watch_run"]

_EVERY = 5.0  # seconds between plain lines


def watch_run(
    steps: Iterator[Progress], *, quiet: bool, begin: Callable[[Progress], None] | None = None
) -> None:
    """Follow one run to its end.

    Args:
        steps: The run.
        quiet: Whether nothing is shown but notes.
        begin: Is called once, when the data has been read and the initial model tested.
    """
    with _bar("{task.fields[news]}", quiet=quiet) as bar:
        task, improved, last = None, None, time.monotonic()
        with closing(_as_generator(steps)):
            for progress in steps:
                note(progress.notes)
                if task is None:
                    if begin is not None and not quiet:
                        begin(progress)
                    task = bar.add_task(progress.unit, total=progress.rounds, news="")
                if progress.row is not None and progress.row.improved is not None:
                    improved = progress.row.improved
                news = _news(progress.evaluation, improved, progress.held)
                bar.update(task, completed=progress.round_num, news=news)
                if not err.is_terminal and not quiet and time.monotonic() - last > _EVERY:
                    last = time.monotonic()
                    say(err, f"{progress.unit} {progress.round_num} of {progress.rounds}: {news}")


def watch_jobs(
    collection: Collection, jobs: int, *, quiet: bool, notes: bool = False
) -> list[JobState]:
    """Follow a sweep to its end, with the notes of its runs, each once, if they are wanted.

    Returns:
        The last news of every run.
    """
    said = set[str]()
    wanted = notes and not quiet
    if wanted:
        # Also of runs that are finished, and say nothing any more; further seeds split the same
        # rows in another way, and what differs by that need not be read twice.
        seed = collection.runs[0].seed
        note((text for run in collection.runs for text in run.notes if run.seed == seed), said)
        said.update(text for run in collection.runs for text in run.notes)
    totals = [run.spec.rounds for run in collection.runs]
    # Rounds of some and clients of others are summed up.
    unit = "step" if any(run.spec.baseline == "alone" for run in collection.runs) else "round"
    done = [
        total if folder.done else 0
        for total, folder in zip(totals, collection.folders, strict=True)
    ]
    finished = sum(folder.done for folder in collection.folders)
    ended: list[JobState] = []
    with _bar("{task.fields[news]}", quiet=quiet) as bar:
        task = bar.add_task(unit, total=sum(totals), completed=sum(done), news="")
        last = time.monotonic()
        for state in collection.execute(jobs):
            note(state.notes if wanted else (), said)
            if state.finished or state.error:
                ended.append(state)
                finished += state.finished
                if state.finished:  # it may have ended early
                    done[state.index] = totals[state.index]
            else:
                # A baseline has another number of rounds than its spec, or counts clients.
                totals[state.index] = state.rounds or totals[state.index]
                done[state.index] = state.round_num
            news = f"{finished} of {len(totals)} runs finished"
            bar.update(task, total=sum(totals), completed=sum(done), news=news)
            if not err.is_terminal and not quiet and time.monotonic() - last > _EVERY:
                last = time.monotonic()
                say(err, f"{unit} {sum(done)} of {sum(totals)}: {news}")
    return ended


def leave_if_failed(collection: Collection, states: Sequence[JobState]) -> None:
    """Name the runs that failed, and end the command with the exit code of the first."""
    failed = [state for state in states if state.error]
    for state in failed:
        name = collection.runs[state.index].folder_name
        say(err, f"[bold red]Error:[/] {escape(f'{name}: {state.error}')}")
    if failed:
        raise typer.Exit(failed[0].exit_code)


def _bar(news: str, *, quiet: bool) -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        MofNCompleteColumn(),
        BarColumn(bar_width=16),
        TimeRemainingColumn(compact=True),
        TextColumn(news),
        console=err,
        disable=quiet or not err.is_terminal,
    )


def _news(evaluation: EvaluationRow, improved: float | None, held: int | None) -> str:
    """Say in a few words how the users are doing."""
    accuracy, loss = evaluation.honest.accuracy or {}, evaluation.honest.loss or {}
    parts = []
    if accuracy:
        parts.append(f"avg {100 * (accuracy['average'] or 0):.1f}%")
        parts.append(f"worst5 {100 * (accuracy['percentile_5'] or 0):.1f}%")
    elif loss:
        parts.append(f"loss {loss['average']:.4g}")
    if improved is not None:
        parts.append(f"improved {improved:.0f}%")
    if held is not None:
        parts.append(f"held {held}")
    return " ".join(parts)


def _as_generator(steps: Iterator[Progress]) -> Generator[Progress, None, None]:
    return steps  # type: ignore[return-value]  # execute is one; closing it ends the run's workers
