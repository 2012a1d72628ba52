"""A sweep on disk: a folder of run folders and the table over them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fedmgda._files import write_file
from fedmgda._json import to_json
from fedmgda.experiments._jobs import JobState, run_jobs
from fedmgda.experiments._reader import open_run
from fedmgda.experiments._store import RunFolder
from fedmgda.experiments._table import sweep_rows, to_csv, to_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fedmgda.experiments._rows import Summary
    from fedmgda.experiments._sweep import PlannedRun
    from fedmgda.experiments._table import Row

__all__ = ["Collection"]


class Collection:
    """The runs of a sweep in one folder; finished ones are never run again."""

    def __init__(self, path: Path, runs: Sequence[PlannedRun]) -> None:
        self.path, self.runs = path, runs
        self.folders = [RunFolder.create(path / run.folder_name, run.spec) for run in runs]

    def execute(self, jobs: int = 1) -> Iterator[JobState]:
        """Carry the unfinished runs to their end; the index in the news is that of `runs`."""
        pending = [index for index, folder in enumerate(self.folders) if not folder.done]
        for state in run_jobs([self.folders[index].path for index in pending], jobs):
            yield JobState(**asdict(state) | {"index": pending[state.index]})

    def summaries(self) -> list[Summary | None]:
        """Return the summary of every run, None for those not finished."""
        return [open_run(folder.path).summary if folder.done else None for folder in self.folders]

    def write_table(self) -> list[Row]:
        """Write `summary.csv`, `.md` and `.json` over the finished runs, and return the rows."""
        rows = sweep_rows(self.runs, self.summaries())
        texts = {
            "summary.csv": to_csv(rows),
            "summary.md": to_markdown(rows),
            "summary.json": to_json(rows),
        }
        for name, text in texts.items():
            write_file(self.path / name, text.encode())
        return rows
