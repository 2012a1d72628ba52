"""The report of a study as files: tables, a page, figures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fedmgda._errors import StoreError
from fedmgda._files import make_folder, write_file
from fedmgda.paper._figures import Measured, Pictured, draw_study
from fedmgda.paper._page import markdown
from fedmgda.paper._records import as_published
from fedmgda.paper._report import make_report
from fedmgda.paper._result import by_cell
from fedmgda.paper._text import (
    answers_csv,
    fixed_answers_csv,
    fixed_csv,
    lines_csv,
    primaries_csv,
    promises_csv,
    welch_csv,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.paper._published_study import PublishedStudy
    from fedmgda.paper._report import Report
    from fedmgda.paper._setting import Setting
    from fedmgda.paper._study import Study

__all__ = ["write_report"]


def write_report(
    study: Study, setting: Setting, folder: Path, published: Sequence[PublishedStudy] = ()
) -> Report:
    """Write `<id>.csv`, `<id>.md` and the figures into the folder of the runs.

    The same runs give the same bytes.

    Args:
        study: The study.
        setting: How large it is run.
        folder: The folder of its runs.
        published: Where finished runs of it are published that count as well.

    Raises:
        StoreError: If nothing has been run there, or the folder cannot be written.
    """
    report = make_report(study, setting, folder, published)
    texts = _texts(study, setting, report)
    make_folder(folder)
    for name, text in texts.items():
        write_file(folder / name, text.encode())
    try:
        figures = draw_study(study, _pictured(setting, report), folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.") from error
    return replace(report, files=[*(folder / name for name in texts), *figures])


def _pictured(setting: Setting, report: Report) -> Pictured:
    """Return what is drawn, to the digits that are published: a reader can draw it again."""
    return Pictured(
        compat=setting.compat,
        groups=[
            [as_published(result) for result in group]
            for group in by_cell(report.results).values()
        ],
        rows=[
            Measured(
                cell=line.cell, metric=line.metric, seeds=len(line.values), mean=line.mean,
                std=line.std, published=line.published.mean if line.published else None,
            )
            for line in report.lines
        ],
    )  # fmt: skip


def _texts(study: Study, setting: Setting, report: Report) -> dict[str, str]:
    """Return the files of a report by name.

    What was fixed beforehand has files of its own: the others keep the bytes they had before there
    was such a thing, so that what was published can be made again.
    """
    name = study.name
    texts = {
        f"{name}.csv": lines_csv(study, report.lines),
        f"{name}.md": markdown(study, setting, report),
        f"{name}-fixed.csv": fixed_csv(study, report.fixed),
    }
    if any(not math.isnan(line.welch_p) for line in report.lines):
        texts[f"{name}-welch.csv"] = welch_csv(study, report.lines)
    if report.answers:
        texts[f"{name}-differences.csv"] = answers_csv(report.answers)
        texts[f"{name}-fixed-differences.csv"] = fixed_answers_csv(report.fixed_answers)
    if report.primaries:
        texts[f"{name}-primary.csv"] = primaries_csv(report.primaries)
    if report.promises:
        texts[f"{name}-promise.csv"] = promises_csv(report.promises)
    return texts
