"""The results of a study so far: from the folders of its runs, and from what is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedmgda._errors import StoreError
from fedmgda.experiments import open_run, run_folders
from fedmgda.paper._records import result_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from fedmgda.experiments import PlannedRun
    from fedmgda.paper._published_study import PublishedStudy
    from fedmgda.paper._result import Result

__all__ = ["published_results", "read_results"]


def read_results(
    runs: Sequence[PlannedRun], path: Path, published: Sequence[PublishedStudy] = ()
) -> list[Result]:
    """Return the runs that have been evaluated, finished or not, in the order of the plan.

    Args:
        runs: What was planned.
        path: The folder of their folders.
        published: Where finished runs count as well; what is in the folder goes before them.

    Raises:
        StoreError: If a folder holds a run of another spec.
    """
    kept = {result.run.folder_name: result for result in published_results(runs, published)}
    begun = set(run_folders(path))
    results = []
    for run in runs:
        own = _read(run, path / run.folder_name) if path / run.folder_name in begun else None
        found = own if own is not None and own.done else kept.get(run.folder_name, own)
        if found is not None:
            results.append(found)
    return results


def published_results(
    runs: Iterable[PlannedRun], published: Sequence[PublishedStudy]
) -> list[Result]:
    """Return the finished ones among some runs that are published, each once."""
    return [
        found[0]
        for run in runs
        if (found := [r for study in published if (r := study.result(run)) is not None and r.done])
    ]


def _read(run: PlannedRun, folder: Path) -> Result | None:
    found = open_run(folder)
    if not found.begun:
        return None
    if not found.holds(run.spec):
        raise StoreError(
            f"{found.path} holds a run of another spec; name the folder of this study and "
            "its setting with --out."
        )
    return result_of(run, found) if found.evaluations else None
