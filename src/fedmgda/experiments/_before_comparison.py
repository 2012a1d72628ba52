"""What is looked at before the runs of a comparison begin: whether they would go together."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from fedmgda._errors import StoreError
from fedmgda.experiments._build_data import build_data
from fedmgda.experiments._folder_files import SPEC
from fedmgda.experiments._reader import Run, open_run
from fedmgda.experiments._records import EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fedmgda.experiments._sweep import PlannedRun

__all__ = ["refuse_other_runs"]


def refuse_other_runs(path: Path, runs: Sequence[PlannedRun]) -> None:
    """Refuse a folder whose runs are of another spec, or of data that has changed since.

    The data is read only where some runs have begun and others have not come to their end.

    Args:
        path: The folder that the run folders are in, or will be.
        runs: The runs that are wanted.

    Raises:
        StoreError: If the runs that are there could not be compared with those to come.
    """
    begun = list[Run]()
    for planned in runs:
        folder = path / planned.folder_name
        if not ((folder / SPEC).exists() and (folder / EVALUATIONS).exists()):
            continue
        run = open_run(folder)
        if not run.holds(planned.spec):
            raise _refused(path, f"{folder} already holds a run of another spec, or its data has "
                           "changed since")  # fmt: skip
        begun.append(run)
    if sum(run.finished for run in begun) == len(runs):
        return
    for seed in {run.spec.seed for run in begun}:
        same = [run for run in begun if run.spec.seed == seed]
        data, _ = build_data(same[0].spec)
        for run in same:
            try:
                run.check_data(data)
            except StoreError as error:
                told = f"The data has changed since {run.path} began"
                raise _refused(path, told) from error


def _refused(path: Path, reason: str) -> StoreError:
    places = (path.with_name(f"{path.name}-{number}") for number in count(2))
    free = next(place for place in places if not place.exists())
    return StoreError(f"{reason}; put the runs of this comparison elsewhere: --out {free}")
