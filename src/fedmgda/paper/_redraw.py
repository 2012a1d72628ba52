"""The figures of a published study, drawn again from its folder alone."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from fedmgda._errors import StoreError
from fedmgda.paper._comparison import cell_name
from fedmgda.paper._figures import Measured, Pictured, draw_study
from fedmgda.paper._published_study import open_published
from fedmgda.paper._records import as_published
from fedmgda.paper._result import by_cell
from fedmgda.paper._setting import plan_study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._published_study import PublishedStudy
    from fedmgda.paper._result import Result
    from fedmgda.paper._study import Study

__all__ = ["draw_published"]


def draw_published(folder: Path, target: Path | None = None) -> list[Path]:
    """Draw the figures of a study that `export_study` has published.

    They are those of the report, byte for byte, if all rows have finished runs: what is drawn is
    what is published. No run is needed.

    Args:
        folder: Where the study was published.
        target: Where figures go; None takes the same folder.

    Returns:
        The files, PNG and PDF of each figure.

    Raises:
        StoreError: If the folder holds no published study, or one that cannot be read.
    """
    published = open_published(folder)
    study = published.study
    runs = plan_study(study, published.setting)
    try:
        shown = Pictured(
            compat=published.setting.compat,
            groups=list(by_cell(_results(runs, published)).values()),
            rows=_rows(study, runs, folder / f"{study.name}.csv"),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} holds no published study that can be read: {error}.") from error
    return draw_study(study, shown, target or folder)


def _results(runs: Sequence[PlannedRun], published: PublishedStudy) -> list[Result]:
    """Return what is kept, to the digits that the report of the runs was drawn with."""
    found = (published.result(run) for run in runs)
    return [as_published(result) for result in found if result is not None]


def _rows(study: Study, runs: Sequence[PlannedRun], path: Path) -> list[Measured]:
    cells = {cell_name(study, run.cell): run.cell for run in runs}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Measured(
                cell=cells[row["row"]],
                metric=row["metric"],
                seeds=int(row["seeds"]),
                mean=float(row["mean"]),
                std=float(row["std_over_seeds"]),
                published=float(row["published_mean"]) if row["published_mean"] else None,
            )
            for row in csv.DictReader(file)
        ]
