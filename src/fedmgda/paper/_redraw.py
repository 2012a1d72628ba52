"""The figures of a published study, drawn again from its folder alone."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from fedmgda._errors import StoreError
from fedmgda._files import read_file
from fedmgda._json import read_json
from fedmgda.paper._comparison import cell_name
from fedmgda.paper._figures import Measured, Pictured, draw_study
from fedmgda.paper._records import Record, read_record
from fedmgda.paper._setting import Setting, plan_study, seeds_of
from fedmgda.paper._study import STUDIES, load_study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._study import Study

__all__ = ["draw_published"]

_LARGEST = 1 << 20


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
    study = _study_in(folder)
    try:
        facts = read_json(read_file(folder / "setting.json", _LARGEST) or b"")
        setting = _setting(study, facts)
        runs = plan_study(study, setting)
        shown = Pictured(
            compat=setting.compat,
            groups=_groups(runs, folder, finished=facts["runs_finished"] > 0),
            rows=_rows(study, runs, folder / f"{study.name}.csv"),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder} holds no published study that can be read: {error}.") from error
    return draw_study(study, shown, target or folder)


def _study_in(folder: Path) -> Study:
    for name in STUDIES:
        if (folder / f"{name}.csv").is_file() and (folder / "setting.json").is_file():
            return load_study(name)
    raise StoreError(
        f"{folder} holds no published study: no setting.json beside the table of one; "
        "name a folder that was written with --publish."
    )


def _setting(study: Study, facts: Mapping[str, Any]) -> Setting:
    seeds: list[int] = facts["seeds"]
    own = seeds_of(study, Setting(seeds=len(seeds)))
    return Setting(
        compat=facts["compat"],
        seeds=len(seeds) if own == seeds else range(seeds[0], seeds[-1] + 1),
        rounds=facts["rounds"],
        changes=tuple(facts["changes"]),
    )


def _groups(runs: Sequence[PlannedRun], folder: Path, *, finished: bool) -> list[list[Record]]:
    """Group the records that are there; one that has only its initial evaluation says nothing."""
    groups: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for run in runs:
        record = read_record(run, folder)
        if record is not None and (finished or len(record.evaluated) > 1):
            groups.setdefault(tuple(run.cell.items()), []).append(record)
    return list(groups.values())


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
