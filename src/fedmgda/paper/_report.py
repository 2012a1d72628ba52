"""From finished runs to the report of a study: a table, a page, figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from fedmgda._errors import StoreError
from fedmgda._files import write_file
from fedmgda.paper._comparison import Line, compare
from fedmgda.paper._figures import draw_study
from fedmgda.paper._questions import Answer, answers
from fedmgda.paper._result import Result, read_results
from fedmgda.paper._setting import plan_study, run_command
from fedmgda.paper._text import answers_csv, lines_csv, markdown

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["Report", "write_report"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a study has shown so far.

    Attributes:
        lines: Our numbers beside the paper's.
        answers: Differences over paired seeds, for the questions of our own.
        results: The runs behind them.
        planned: How many runs the study has.
        files: What was written.
    """

    lines: list[Line]
    answers: list[Answer]
    results: list[Result]
    planned: int
    files: list[Path]


def write_report(study: Study, setting: Setting, folder: Path) -> Report:
    """Write `<id>.csv`, `<id>.md` and the figures into the folder of the runs.

    Every finished run counts. A row without one is shown as far as its runs have come, and is not
    compared. The same runs give the same bytes.

    Raises:
        StoreError: If nothing has been run there, or the folder cannot be written.
    """
    runs = plan_study(study, setting)
    results = read_results(runs, folder)
    lines = compare(study, setting, results)
    if not lines:
        raise StoreError(
            f"{folder} has no run of {study.name!r} that came to an evaluation; "
            f"run it with: {run_command(study, setting, folder)}"
        )
    found = answers(study, lines)
    texts = {
        f"{study.name}.csv": lines_csv(study, lines),
        f"{study.name}.md": markdown(study, setting, lines, found),
    }
    if found:
        texts[f"{study.name}-differences.csv"] = answers_csv(found)
    for name, text in texts.items():
        write_file(folder / name, text.encode())
    try:
        figures = draw_study(study, results, lines, folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.") from error
    files = [*(folder / name for name in texts), *figures]
    return Report(lines=lines, answers=found, results=results, planned=len(runs), files=files)
